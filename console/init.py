"""``longwait init``: a commented config to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CANNOT = 1

TEMPLATE = """\
# longwait: one run. config.example.yaml of the project shows every setting, with its unit and default.

host: {host}        # alias of ~/.ssh/config, user@name, user@name:port, or local

server:                                # as the host itself sees it
  url: {server_url}
  log: {server_log}

job:
  log: {job_log}
  # What start, stop and restart need; leave it out to watch only.
  # dir: /data/run
  # script: /data/run/run_inference.py
  # command: [python3, -u, run_inference.py, --config, job.json]
  # new_script: ./run_inference.py     # the local script that a restart puts on the host

# datasets:                            # optional: fills the screen before the job says it
#   - {{name: B1, prompts: 10000, budget: 10000000, kind: SHORT}}
"""

DEFAULTS = {
    "host": "gpu01",
    "server_url": "http://127.0.0.1:30000",
    "server_log": "/data/run/server.log",
    "job_log": "/data/run/job.log",
}


def run_init(output: Path, given: Mapping[str, str | None], *, force: bool) -> int:
    """Write the file, unless one is there."""
    values = {key: _word(given.get(key) or default) for key, default in DEFAULTS.items()}
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(**values))
    except FileExistsError:
        click.echo(f"{output} exists and was left as it is; --force replaces it.", err=True)
        return CANNOT
    except OSError as error:
        click.echo(f"{output} could not be written: {error.strerror}.", err=True)
        return CANNOT
    click.echo(f"Wrote {output}. Edit it, then `longwait --config {output} doctor` says what is still wrong.")
    return 0


def _word(value: str) -> str:
    """A value as YAML writes it on one line, quoted where it must be."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("\n...\n").rstrip("\n")
