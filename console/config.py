"""The settings, as frozen structs; ``console.config_file`` reads them from YAML and reports every fault at once.

Each field's docstring gives its unit. Its annotation says what a file may hold: types and limits in msgspec's words,
and what those can't say as a ``Check``. ``config.example.yaml`` shows all of them; a test keeps the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta

from console.config_model import Check, Misfit, Model
from console.config_theme import ThemeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character, which no path, address or word can")
    return text


def _is_name(text: str) -> str:
    if text.startswith("-"):
        raise ValueError("begins with -, as an option does")
    return text


def _is_http(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    try:
        parts = urlsplit(value)
        usable = parts.hostname is not None and parts.port != 0
    except ValueError as error:
        raise ValueError(f"is no address: {error}") from error
    if not usable:
        raise ValueError("names no host and port, such as http://127.0.0.1:30000")
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a user or password; use api_key_env for a key")
    return value.rstrip("/")


def _is_path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("must begin with /")
    return value


def _is_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone of the zone database, such as Europe/Berlin or UTC") from error
    return value


Text = Annotated[str, Meta(min_length=1), Check(_without_nul)]
Name = Annotated[Text, Check(_is_name)]
Words = Annotated[tuple[Text, ...], Meta(min_length=1)]
Digest = Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$", description="64 hexadecimal digits")]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(gt=0, le=1)]


class SshSettings(Model, frozen=True, kw_only=True):
    """How the host is reached; what is left out is taken from ~/.ssh/config, as ``ssh`` does."""

    config_file: Text | None = None
    """An ssh_config file in place of ~/.ssh/config and /etc/ssh/ssh_config."""
    known_hosts: Text | None = None
    """A known_hosts file in place of the usual ones."""
    identity: Text | None = None
    """A private key file in place of the usual ones and the agent's."""
    connect_timeout_s: Seconds = 10.0
    """Seconds a connection may take to be made."""
    keepalive_s: Annotated[float, Meta(gt=0, le=3.5)] = 3.0
    """Seconds between keepalives; three unanswered ones mean that the link is lost: within four times this."""


class PatternSettings(Model, frozen=True, kw_only=True):
    """A line of the job's log that says how far it is, in the user's own words."""

    name: Text
    """What it is called in reports."""
    regex: Text
    """A regular expression, searched in each line without its stamp. Named groups, of which `done` must be there:
    dataset, done, total, errors, tokens, mean, eta_s."""
    sample: Text | None = None
    """A line that it must find; checked when the config is read."""

    def misfits(self) -> Iterator[Misfit]:
        """As the base says."""
        # Imported where patterns are used: the parsers' formats need not delay the first frame of everyone else.
        from console.job.user_patterns import pattern_format  # noqa: PLC0415

        try:
            pattern = pattern_format(self.name, self.regex, self.sample or "").pattern
        except ValueError as error:
            yield Misfit((), str(error))
            return
        if self.sample is not None and pattern.search(self.sample) is None:
            yield Misfit((), "regex does not find its own sample")


class ServerControlSettings(Model, frozen=True, kw_only=True):
    """How the server is started, stopped and restarted; what is left out can't be done from here."""

    start: Words | None = None
    """The command on the host that starts it, as a list of words."""
    stop: Words | None = None
    """The command that stops it."""
    restart: Words | None = None
    """The command that restarts it; without one, stop and start."""
    unit: Name | None = None
    """Its systemd unit, in place of commands."""
    unit_of: Literal["user", "system"] = "system"
    """Whose systemd has the unit."""
    dir: Text | None = None
    """Folder in which the commands run; the login's home when left out."""
    log: Text | None = None
    """File on the host that their output is added to; a start that is the server itself wants the server's log here."""

    def misfits(self) -> Iterator[Misfit]:
        """As the base says."""
        if self.unit is not None and any((self.start, self.stop, self.restart)):
            yield Misfit((), "unit and commands are both set; give one of them")


class ServerSettings(Model, frozen=True, kw_only=True):
    """The inference server, as seen from the host itself."""

    url: Annotated[Text, Check(_is_http)] = "http://127.0.0.1:30000"
    """Its address on the host; reached through the SSH connection."""
    log: Text | Words | None = None
    """Path of its log on the host; a list where each node or rank writes its own."""
    log_command: Words | None = None
    """A command on the host that prints and follows the log, in place of a file: journalctl, docker or kubectl logs."""
    engine: Literal["auto", "sglang", "vllm", "llamacpp", "trtllm"] = "auto"
    """What writes the log; ``auto`` finds out."""
    log_last_mib: Annotated[float, Meta(gt=0, le=1024)] = 8.0
    """MiB of the log's end that are read at the start; the rest is filled in behind."""
    fill_mib_s: Annotated[float, Meta(gt=0, le=1024)] = 8.0
    """MiB a second at most at which the older part of a log is read."""
    health_path: Annotated[Text, Check(_is_path)] = "/health"
    """What is asked to see whether it is well."""
    health_every_s: Annotated[float, Meta(ge=5, le=86_400)] = 60.0
    """Seconds between health checks (SGLang answers each with a generated token)."""
    health_timeout_s: Seconds = 25.0
    """Seconds a health check may take; SGLang itself waits up to 20."""
    metrics: bool = True
    """Ask /metrics too, when it is there."""
    metrics_every_s: Annotated[float, Meta(ge=2, le=86_400)] = 15.0
    """Seconds between metrics pages."""
    control: ServerControlSettings = ServerControlSettings()
    """How it is started, stopped and restarted, where that is wanted."""
    api_key_env: Text | None = None
    """Name of the environment variable, here, that holds the server's API key; the key itself is never in a file."""

    @property
    def log_paths(self) -> tuple[str, ...]:
        """Its log files, none, one or several."""
        return (self.log,) if isinstance(self.log, str) else self.log or ()


class JobSettings(Model, frozen=True, kw_only=True):
    """The batch job on the host."""

    log: Text | None = None
    """Path of its log on the host."""
    log_command: Words | None = None
    """A command on the host that prints the log and follows it, in place of a file."""
    patterns: tuple[PatternSettings, ...] = ()
    """Progress lines of a job that longwait does not know."""
    progress: Text | None = None
    """Path of its progress.jsonl on the host; optional."""
    dir: Text | None = None
    """Folder in which it is started."""
    script: Text | None = None
    """Path of its script on the host; what a restart puts the new one in place of."""
    script_sha256: Digest | None = None
    """SHA-256 that the running script must have; another one is told of as the wrong script."""
    command: Words | None = None
    """The command line that starts it, as a list of words."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Environment variables added for it; no secrets here: this file is no place for them."""
    venv: Text | None = None
    """Folder of a venv on the host that it runs in, as after `source bin/activate`."""
    conda: Text | None = None
    """Name or folder of a conda environment on the host that it runs in, as after `conda activate`."""
    keep_env: bool = True
    """Keep the environment of a stopped job on the host, readable by its user alone, so that a roll back can use it."""
    match: Text | None = None
    """Words by which a job that was started by hand is found in the process list."""
    python: Text = "python3"
    """The host's python that finds, starts and stops the job; 3.8 or newer."""
    launcher: Literal["process", "tmux", "systemd"] = "process"
    """What runs it: a detached process, a tmux session that one can attach to, or a unit of systemd."""
    unit: Name | None = None
    """With systemd: a unit that exists; left out, a transient one is made of `command`."""
    unit_of: Literal["auto", "user", "system"] = "auto"
    """Whose systemd has that unit; auto: the user's if it has one of the name."""
    run_as: Name | None = None
    """Find, start and stop it as this user, through `sudo -n`, which must ask for no password."""
    container: Name | None = None
    """Find, start and stop it in this container, through `docker exec`."""
    container_runtime: Literal["docker", "podman", "nerdctl"] = "docker"
    """What runs the container."""
    grace_s: Annotated[float, Meta(ge=0, le=3600)] = 60.0
    """Seconds between TERM and KILL."""
    new_script: Text | None = None
    """A local script that a restart puts on the host."""
    look_every_s: Annotated[float, Meta(ge=2, le=3600)] = 15.0
    """Seconds between looks at the process list."""

    def misfits(self) -> Iterator[Misfit]:
        """As the base says."""
        if self.unit is not None and self.launcher != "systemd":
            yield Misfit((), "unit is set, and launcher is not systemd")
        if self.venv is not None and self.conda is not None:
            yield Misfit((), "venv and conda are both set; give one of them")
        if self.unit is not None and (self.venv is not None or self.conda is not None):
            yield Misfit((), "unit is set, and a unit has an environment of its own: take venv and conda out")


class DatasetSettings(Model, frozen=True, kw_only=True):
    """What is known of a dataset before the job says it; all but the name may be left out."""

    name: Text
    """Its name, as the job's log prints it."""
    prompts: Count | None = None
    """Prompts in all."""
    budget: Count | None = None
    """Completion tokens after which it ends."""
    kind: str = ""
    """SHORT, LONG or any word; datasets of one kind share their expected length."""
    concurrency: Count | None = None
    """Requests in flight at most, as the job is told."""
    max_tokens: Count | None = None
    """New tokens a request may make at most, as the job is told."""
    mean_tokens: Count | None = None
    """Mean completion that is expected, where something is known of it; it narrows the first estimates."""


class MachineSettings(Model, frozen=True, kw_only=True):
    """The host itself: GPUs, load, memory and the disk of the output, asked by one command."""

    ask: bool = True
    """Ask for them while the console or `watch` is open."""
    every_s: Annotated[float, Meta(ge=60, le=86_400)] = 60.0
    """Seconds between two times; not more often than once a minute."""
    gpus: Literal["auto", "nvidia", "amd", "none"] = "auto"
    """Which GPUs: `nvidia-smi`, `rocm-smi`, whichever is there, or none."""
    disk: Text | None = None
    """A folder on the disk that must not fill; left out, where progress.jsonl is, else the job's log."""


class JudgementSettings(Model, frozen=True, kw_only=True):
    """Where a figure begins to mean something; docs/judgement.md says what each rule looks at."""

    stall_s: Seconds = 120.0
    """Seconds without a made token, with requests running, after which a server is stalled, at least."""
    idle_s: Seconds = 150.0
    """Seconds of an idle server, with the job's requests in flight, after which the job is stalled."""
    loading_s: Seconds = 3600.0
    """Seconds that the prompts of a dataset may take to load."""
    switch_s: Seconds = 1800.0
    """Seconds that may pass between two datasets."""
    health_failures: Count = 3
    """Failed health checks in a row that mean something."""
    errors_share: Share = 0.05
    """Share of the requests of ten minutes that failed for good, from which on errors are watched."""
    storm_share: Share = 0.2
    """Share of the requests of five minutes that failed for good, from which on the job is to be stopped."""
    capped_share: Share = 0.9
    """Share of the completions at the length limit from which on nearly all are."""
    throughput_low: Share = 0.8
    """Share of the expected throughput below which it is low."""
    kv_full: Share = 0.7
    """Token usage from which on the KV cache is the limit."""
    restarts: Annotated[int, Meta(ge=2, le=16)] = 3
    """Starts of the server or the job within an hour, with little made between them, that are a loop."""
    hold_watch_s: Seconds = 180.0
    """Seconds for which a watch stays after it was last seen."""
    hold_intervene_s: Seconds = 300.0
    """Seconds for which an intervention stays after it was last seen, where figures may waver."""


class Settings(Model, frozen=True, kw_only=True):
    """All settings of one run."""

    host: Text
    """An alias of ~/.ssh/config, user@name, user@name:port, or ``local``."""
    ssh: SshSettings = SshSettings()
    """How the host is reached."""
    server: ServerSettings = ServerSettings()
    """The inference server."""
    job: JobSettings = JobSettings()
    """The batch job."""
    datasets: tuple[DatasetSettings, ...] = ()
    """In the order of the run; those that are not named here appear when the job names them."""
    machine: MachineSettings = MachineSettings()
    """The host itself."""
    timezone: Annotated[Text, Check(_is_zone)] | None = None
    """Zone of the times in the logs, such as Europe/Berlin; left out, the host is asked."""
    judgement: JudgementSettings = JudgementSettings()
    """When to watch and when to intervene."""
    keys: dict[str, str] = msgspec.field(default_factory=dict)
    """Other keys for the console's commands: a command's id to one key, or several with commas between."""
    theme: Text | None = None
    """Name of the console's theme: one of longwait's, of Textual's, or of your own."""
    themes: dict[str, ThemeSettings] = msgspec.field(default_factory=dict)
    """Themes of your own, by name."""
    ascii: bool | None = None
    """Draw with ASCII only; left out, the terminal's locale and type decide."""
    history: bool = True
    """Keep what was seen in a file on this machine, so that a restarted console goes on where it stopped."""
    journal_on_host: bool = False
    """Write the ends of acts into `.longwait/journal.jsonl` in the job's folder on the host, too."""
    read_only: bool = False
    """Remove start, stop and restart."""
    confirm: Literal["ask", "none"] = "ask"
    """Ask before an act, or do it at once."""

    def misfits(self) -> Iterator[Misfit]:
        """As the base says."""
        names = [dataset.name for dataset in self.datasets]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            yield Misfit(("datasets",), f"name {', '.join(doubled)} twice")
        for name, part in (("server", self.server), ("job", self.job)):
            if part.log is not None and part.log_command is not None:
                yield Misfit((name,), "log and log_command are both set; give one of them")
        if not any((self.server.log, self.server.log_command, self.job.log, self.job.log_command)):
            yield Misfit((), "neither server.log nor job.log is set: give at least one log to follow")
