"""Looks at the host and says what an act would do; changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from console import act_checks
from console.act_words import (
    about_environment,
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
from console.acts import ActionPlan, Check, Verb
from console.job.lines import clean
from console.job.units import size
from remote.control_checks import check_job
from remote.errors import CommandFailed, RemoteError
from remote.files import MAX_READ_BYTES, check_syntax, read_file
from remote.launchers.systemd import UnitLauncher
from remote.probe import probe

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from pathlib import Path
    from typing import Any

    from console.act_former import Former
    from remote.control_checks import JobChecks
    from remote.files import RemoteFile, SyntaxFault
    from remote.host import Host
    from remote.launchers.base import Launcher
    from remote.probe import HostProbe

T = TypeVar("T")

MOST_SCRIPT_BYTES = 10_485_760
"""A script is far smaller; a larger file was given by mistake, and would be sent over the link twice."""


CHANGED_SINCE = "the one on the host is not what this act has put there: somebody has changed it since"

NOTHING_LEFT = (
    "There is nothing to roll back: only the environment was another one, and that of the former process is not kept."
)


class Planner:
    """Makes plans for one job on one host.

    Args:
        host: The machine.
        launcher: How the job is found there.
        grace_s: Seconds between TERM and KILL.
        outputs: Files or folders that the job writes, beside its log.
    """

    def __init__(self, host: Host, launcher: Launcher, grace_s: float, outputs: Sequence[str] = ()) -> None:
        self._host = host
        self._launcher = launcher
        self._spec = launcher.spec
        self._grace_s = grace_s
        self._outputs = tuple(outputs)
        self._unit = launcher.unit if isinstance(launcher, UnitLauncher) else ""

    async def plan(self, verb: Verb, script: Path | None) -> ActionPlan:
        """See ``console.control.Controller.plan``."""
        draft = await self._begun(verb, f"{verb.capitalize()} the job on {self._host.name}")
        if draft.refusal or verb is Verb.STOP:
            return draft
        refusal = spec_refusal(self._spec, writes_script=script is not None, unit=self._unit)
        if refusal:
            return replace(draft, refusal=refusal)
        return await self._with_start(replace(draft, script=script))

    async def plan_back(self, former: Former) -> ActionPlan:
        """A plan that puts back what ran before: its script as it was kept, and its command (the launcher's)."""
        title = f"Roll the job on {self._host.name} back to before {former.act}"
        found = await self._launcher.find(self._host)
        draft = replace(await self._begun(Verb.RESTART if found.processes else Verb.START, title), rolls_back=True)
        refusal = draft.refusal or spec_refusal(self._spec, writes_script=bool(former.kept), unit=self._unit)
        if refusal:
            return replace(draft, refusal=refusal)
        if not former.kept:
            plan = await self._with_start(draft)
            same = not former.argv and plan.env_of is None
            return replace(plan, refusal=plan.refusal or NOTHING_LEFT) if same else plan
        kept = await read_file(self._host, self._spec.python, former.kept)
        if kept is None or kept.size > MAX_READ_BYTES or kept.sha256 != former.sha256:
            what = "is not there any more" if kept is None else "is not what was kept"
            return replace(draft, refusal=f"The former script {clean(former.kept)} {what} on the host.")
        plan = await self._with_start(replace(draft, new_script=kept.content))
        if former.put_sha256 in {"", plan.host_sha256}:
            return plan
        return replace(plan, checks=(Check("script", "warning", CHANGED_SINCE), *plan.checks))

    async def _begun(self, verb: Verb, title: str) -> ActionPlan:
        """The first half: who runs, and what a stop does."""
        found = await self._launcher.find(self._host)
        process = found.processes[0] if len(found.processes) == 1 else None
        refusal = why_not(verb, found.processes, self._host.name)
        lines = about = about_process(process) if process else ()
        if verb is not Verb.START and not refusal:
            lines = (*lines, *about_stop(self._grace_s))
        sha256 = found.script_sha256
        return ActionPlan(
            verb, title, lines=lines, refusal=refusal, process=process, host_sha256=sha256, about=len(about)
        )

    async def _with_start(self, draft: ActionPlan) -> ActionPlan:
        """The second half: what will run, the script, and the checks."""
        spec = self._spec
        runs = draft.process.identity.argv if draft.process else None
        draft = replace(draft, lines=(*draft.lines, *about_start(spec, runs, self._unit)), argv=spec.argv)
        if draft.script is not None:
            try:
                content = await asyncio.to_thread(_script_bytes, draft.script)
            except OSError as error:
                return replace(draft, refusal=f"The script {draft.script} can't be read here: {error.strerror}.")
            if content is None:
                most = size(MOST_SCRIPT_BYTES)
                return replace(draft, refusal=f"The script {draft.script} is larger than {most}: is it the right file?")
            draft = replace(draft, new_script=content)
        asked = await _together(self._places(), self._former_script(), self._checks(draft))
        places = _given(asked[0])
        refusal = place_refusal(spec, places.paths, writes_script=draft.new_script is not None)
        if refusal:
            return replace(draft, refusal=refusal)
        if spec.script:
            draft = await self._with_script(draft, _given(asked[1]), asked[2])
        return self._with_checks(draft, asked[2])

    async def _places(self) -> HostProbe:
        """The run's folder, its log and its script."""
        spec = self._spec
        paths = [spec.run_dir, spec.log_path, *([spec.script_path] if spec.script else [])]
        return await probe(self._host, spec.python, paths=paths)

    async def _former_script(self) -> RemoteFile | None:
        spec = self._spec
        return await read_file(self._host, spec.python, spec.script_path) if spec.script else None

    async def _checks(self, draft: ActionPlan) -> JobChecks:
        identity = draft.process.identity if draft.process else None
        folders = (self._spec.run_dir, *self._outputs)
        return await check_job(self._host, self._spec, script=draft.new_script, folders=folders, identity=identity)

    def _with_checks(self, draft: ActionPlan, checked: JobChecks | RemoteError) -> ActionPlan:
        """The plan with what was checked; a check that the host could not carry out says so, and refuses nothing."""
        if isinstance(checked, RemoteError):
            if not isinstance(checked, CommandFailed):
                raise checked
            return replace(draft, checks=(Check("checks", "unknown", clean(checked.message)),))
        outlook = self._launcher.outlook(checked.logout)
        gpu = checked.gpu
        known = gpu is not None and gpu.error is None
        environment = checked.environment
        return replace(
            draft,
            lines=(*draft.lines, *about_environment(self._spec, environment, self._unit)),
            checks=act_checks.rows(checked, outlook),
            env_of=self._spec.env_of if environment.kept else None,
            env_changed=() if self._unit else environment.differs or (),
            refusal=draft.refusal or act_checks.refusal(checked, outlook),
            gpu_pids=tuple(app.pid for app in gpu.apps if app.ours) if gpu is not None and known else None,
        )

    async def _with_script(
        self, draft: ActionPlan, former: RemoteFile | None, checked: JobChecks | RemoteError
    ) -> ActionPlan:
        """Compare the new script with the host's; one that the host's Python does not take is refused."""
        spec = self._spec
        draft = replace(draft, host_sha256=former.sha256 if former else None)
        whole = _whole(former)
        will_run = whole if draft.new_script is None else draft.new_script
        fault = await self._fault(will_run, checked)
        if fault is not None:
            draft = replace(draft, refusal=syntax_refusal(str(draft.script or spec.script_path), fault))
        if draft.new_script is None:
            sha = (draft.host_sha256 or "")[:8]
            return replace(draft, lines=(*draft.lines, f"Script: the one on the host stays as it is ({sha})."))
        diff = await asyncio.to_thread(script_diff, whole, draft.new_script) if whole is not None else ()
        line = about_script(former.content if former else None, draft.new_script, diff, spec)
        return replace(draft, lines=(*draft.lines, line), diff=diff)

    async def _fault(self, will_run: bytes | None, checked: JobChecks | RemoteError) -> SyntaxFault | None:
        """Why the script is no program: by the job's own interpreter, else by the one that carries out our steps."""
        if not isinstance(checked, RemoteError) and checked.python is not None and checked.python.error is None:
            return checked.python.syntax
        if will_run is None:
            return None
        return await check_syntax(self._host, self._spec.python, self._spec.script, will_run)


async def _together(
    places: Coroutine[Any, Any, HostProbe],
    script: Coroutine[Any, Any, RemoteFile | None],
    checks: Coroutine[Any, Any, JobChecks],
) -> tuple[HostProbe | RemoteError, RemoteFile | RemoteError | None, JobChecks | RemoteError]:
    """Ask three things at once, so that a slow link costs one round trip; what failed is given as its error."""
    return await asyncio.gather(_settled(places), _settled(script), _settled(checks))


async def _settled(asked: Coroutine[Any, Any, T]) -> T | RemoteError:
    try:
        return await asked
    except RemoteError as error:
        return error


def _given(answer: T | RemoteError) -> T:
    if isinstance(answer, RemoteError):
        raise answer
    return answer


def _script_bytes(path: Path) -> bytes | None:
    """A local script; None when it is too large to be one.

    Raises:
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        content = file.read(MOST_SCRIPT_BYTES + 1)
    return content if len(content) <= MOST_SCRIPT_BYTES else None


def _whole(file: RemoteFile | None) -> bytes | None:
    """A file's content when all of it was read."""
    return file.content if file is not None and file.size <= MAX_READ_BYTES else None
