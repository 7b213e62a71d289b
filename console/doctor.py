"""``longwait doctor``: tries each thing that the config needs, and says what is wrong and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.doctor_host import Check, check_clock, check_files, check_key, check_lingering, check_python
from console.doctor_logs import check_logs
from console.oneshot import BLIND, CANNOT, run
from console.proofs import Proof, proofs
from console.session import now, open_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from console.config import Settings
    from remote.host import Host

SIGNS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}

REMEDIES = {
    "health": "Is the server started, and is server.url its address as the host sees it?",
    "metrics": "Nothing else needs it; SGLang serves it when started with --enable-metrics.",
    "job": "`longwait start` starts it; job.match or job.script finds one that was started by hand.",
}
"""What to do when a proof fails."""


def run_doctor(settings: Settings) -> int:
    """Print each check as it ends. Exit code: 0 nothing failed, 1 something did, 30 the host can't be seen."""
    return run(_doctor(settings))


async def _doctor(settings: Settings) -> int:
    failed = 0
    async for check in examine(settings):
        click.echo(f"{SIGNS[check.state]}  {check.name:<12} {check.detail}")
        for remedy in check.remedies:
            click.echo(f"      {'':<12} {remedy}")
        if check.name == "connection" and check.state == "fail":
            return BLIND
        failed += check.state == "fail"
    click.echo(f"{failed} failed; mend the first, then run it again." if failed else "Nothing failed.")
    return CANNOT if failed else 0


async def examine(settings: Settings) -> AsyncIterator[Check]:
    """Give each check as it ends, in the order in which each needs those before."""
    for check in (*check_key(settings), *check_keys(settings.keys), *check_theme(settings)):
        yield check
    session = open_session(settings)
    try:
        async for proof in proofs(session):
            yield _of_proof(proof)
            if proof.name == "command" and proof.ok:
                for check in await _of_host(session.host, settings):
                    yield check
    finally:
        await session.host.close()


def check_keys(keymap: Mapping[str, str]) -> tuple[Check, ...]:
    """Look whether the console's keys do what the config wants; nothing where it names none."""
    if not keymap:
        return ()
    from console import key_faults  # noqa: PLC0415 - reading the commands takes Textual, which nothing else here needs
    from console.replay_commands import REPLAYED  # noqa: PLC0415

    if strange := key_faults.unknown(keymap, REPLAYED):
        near = "docs/console.md has the ids of all commands."
        return (Check("keys", "fail", f"no command is called {', '.join(strange)}", (near,)),)
    said = key_faults.faults(keymap)
    words = f"{len(keymap)} of the console's keys are your own"
    return (Check("keys", "warn" if said else "ok", words, said),)


def check_theme(settings: Settings) -> tuple[Check, ...]:
    """Look whether the theme that the config names can be had; nothing where it names none."""
    if settings.theme is None and not settings.themes:
        return ()
    from console.config_file import ConfigError  # noqa: PLC0415 - see below
    from console.wanted_looks import NoSuchTheme, wanted_looks  # noqa: PLC0415 - it takes Textual

    try:
        looks = wanted_looks(settings)
    except (NoSuchTheme, ConfigError) as error:
        return (Check("theme", "fail", str(error)),)
    own = f", {len(looks.own)} of your own" if looks.own else ""
    return (Check("theme", "ok", f"{looks.theme or 'the usual'}{own}"),)


async def _of_host(host: Host, settings: Settings) -> list[Check]:
    """What is seen by running commands there."""
    return [
        *await check_clock(host, settings, now),
        *await check_files(host, settings),
        *await check_logs(host, settings, now),
        *await check_python(host, settings),
        *await check_lingering(host),
    ]


def _of_proof(proof: Proof) -> Check:
    latency = "" if proof.latency_s is None else f" ({proof.latency_s * 1000:,.0f} ms)"
    state = "ok" if proof.ok else "fail" if proof.vital else "warn"
    remedies = () if proof.ok or proof.name not in REMEDIES else (REMEDIES[proof.name],)
    return Check(proof.name, state, proof.detail + latency, remedies)
