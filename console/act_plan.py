"""Looks at the host and says what an act would do; changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from console.act_words import (
    about_process,
    about_script,
    about_start,
    about_stop,
    place_refusal,
    script_diff,
    spec_refusal,
    syntax_refusal,
    why_not,
)
from console.acts import ActionPlan, Verb
from remote.files import MAX_READ_BYTES, check_syntax, read_file
from remote.probe import probe

if TYPE_CHECKING:
    from pathlib import Path

    from remote.files import RemoteFile
    from remote.host import Host
    from remote.launchers.base import Launcher


class Planner:
    """Makes plans for one job on one host.

    Args:
        host: The machine.
        launcher: How the job is found there.
        grace_s: Seconds between TERM and KILL.
    """

    def __init__(self, host: Host, launcher: Launcher, grace_s: float) -> None:
        self._host = host
        self._launcher = launcher
        self._spec = launcher.spec
        self._grace_s = grace_s

    async def plan(self, verb: Verb, script: Path | None) -> ActionPlan:
        """See ``console.control.Controller.plan``."""
        found = await self._launcher.find(self._host)
        process = found.processes[0] if len(found.processes) == 1 else None
        draft = ActionPlan(
            verb,
            f"{verb.capitalize()} the job on {self._host.name}",
            lines=about_process(process) if process else (),
            refusal=why_not(verb, found.processes, self._host.name),
            process=process,
            script=None if verb is Verb.STOP else script,
            host_sha256=found.script_sha256,
        )
        if draft.refusal:
            return draft
        if verb is not Verb.START:
            draft = replace(draft, lines=(*draft.lines, *about_stop(self._grace_s)))
        return draft if verb is Verb.STOP else await self._with_start(draft)

    async def _with_start(self, draft: ActionPlan) -> ActionPlan:
        """Add the second half: the script, and what will run."""
        writes = draft.script is not None
        refusal = spec_refusal(self._spec, writes_script=writes)
        if refusal:
            return replace(draft, refusal=refusal)
        draft = replace(draft, lines=(*draft.lines, *about_start(self._spec)))
        refusal = await self._place_refusal(writes_script=writes)
        if refusal or not self._spec.script:
            return replace(draft, refusal=refusal)
        if draft.script is not None:
            try:
                new = await asyncio.to_thread(draft.script.read_bytes)
            except OSError as error:
                return replace(draft, refusal=f"The script {draft.script} can't be read here: {error.strerror}.")
            draft = replace(draft, new_script=new)
        return await self._with_script(draft)

    async def _place_refusal(self, *, writes_script: bool) -> str | None:
        """What the run's folder, its log and its script forbid."""
        spec = self._spec
        paths = [spec.run_dir, spec.log_path, *([spec.script_path] if spec.script else [])]
        places = (await probe(self._host, spec.python, paths=paths)).paths
        return place_refusal(spec, places, writes_script=writes_script)

    async def _with_script(self, draft: ActionPlan) -> ActionPlan:
        """Compare the new script with the host's, and have the one that will run checked by the host's Python."""
        spec = self._spec
        former = await read_file(self._host, spec.python, spec.script_path)
        draft = replace(draft, host_sha256=former.sha256 if former else None)
        whole = _whole(former)
        will_run = whole if draft.new_script is None else draft.new_script
        if will_run is not None:
            fault = await check_syntax(self._host, spec.python, spec.script, will_run)
            if fault is not None:
                draft = replace(draft, refusal=syntax_refusal(str(draft.script or spec.script_path), fault))
        if draft.new_script is None:
            sha = (draft.host_sha256 or "")[:8]
            return replace(draft, lines=(*draft.lines, f"Script: the one on the host stays as it is ({sha})."))
        diff = await asyncio.to_thread(script_diff, whole, draft.new_script) if whole is not None else ()
        line = about_script(former.content if former else None, draft.new_script, diff, spec)
        return replace(draft, lines=(*draft.lines, line), diff=diff)


def _whole(file: RemoteFile | None) -> bytes | None:
    """A file's content when all of it was read."""
    return file.content if file is not None and file.size <= MAX_READ_BYTES else None
