"""The settings: what is accepted, and how each fault is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from console.config import JobSettings, Settings
from console.config_file import ConfigError, Fault, load
from console.config_model import fields_of, model_in
from console.job.limits import Limits
from console.planned import limits_of, plan_of

if TYPE_CHECKING:
    from console.config_model import Model

ROOT = Path(__file__).parents[2]
GOOD = "host: gpu01\njob:\n  log: /data/job.log\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "longwait.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(write(folder, text))
    return [f"{fault.line} {fault.key}: {fault.message}" for fault in caught.value.faults]


def test_example_loads_and_shows_every_setting() -> None:
    path = ROOT / "config.example.yaml"
    loaded = load(path)
    text = path.read_text(encoding="utf-8")
    missing = [name for model in models(Settings) for name, _ in fields_of(model) if f"{name}:" not in text]
    assert loaded.host == "gpu01"
    assert missing == []


def test_defaults_in_the_example_are_the_defaults() -> None:
    example = load(ROOT / "config.example.yaml")
    assert example.ssh == type(example.ssh)()
    assert structs.replace(example.server, log=None) == type(example.server)()


def models(model: type[Model]) -> list[type[Model]]:
    inner = [found for _, kind in fields_of(model) if (found := model_in(kind))]
    return [model, *(deep for found in inner for deep in models(found))]


def test_every_fault_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        "host: gpu01\nserver:\n  health_evry_s: 30\n  metrics_every_s: soon\njob:\n  log: 5\nread_only: on\nhealth_path: /x\n",
    )
    assert found == [
        "3 server.health_evry_s: is no known key; did you mean health_every_s?",
        '4 server.metrics_every_s: should be a number at least 2 and at most 86,400, not "soon"',
        "6 job.log: should be text that is not empty, not 5",
        "7 read_only: YAML reads on as True; write true or false, or quote it: 'on'",
        "8 health_path: is no known key here; did you mean server.health_path?",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "host: a\nhost: b\njob: {log: x}\n",
            "2 host: stands twice (first in line 1); YAML would silently take the last",
        ),
        (
            GOOD + "  grace_s: 1:30\n",
            "4 job.grace_s: YAML reads 1:30 as a number in base 60; quote it, or write plain seconds",
        ),
        (
            GOOD + "datasets: [{name: a, prompts: 0123}]\n",
            "4 datasets[0].prompts: YAML reads 0123 as an octal or hexadecimal number; write a decimal number, or quote it",
        ),
        (GOOD + "datasets: [{name: a}, {name: a}]\n", "4 datasets: name a twice"),
        (
            GOOD + "timezone: Mars/Base\n",
            "4 timezone: is no time zone of the zone database, such as Europe/Berlin or UTC",
        ),
        (GOOD + "server: {url: '127.0.0.1:30000'}\n", "4 server.url: must begin with http:// or https://"),
        (GOOD + "  env: {GPU: 0}\n", "4 job.env.GPU: should be text, not 0"),
        (GOOD + "timezone: Europe\n", "4 timezone: is no time zone of the zone database, such as Europe/Berlin or UTC"),
        (
            GOOD + 'server: {log: "/a\\0b"}\n',
            "4 server.log: holds a NUL character, which no path, address or word can",
        ),
        (GOOD + "server: {url: 'http://127.0.0.1:99999'}\n", "4 server.url: is no address: Port out of range 0-65535"),
        (GOOD + "server: {url: 'http://[::1'}\n", "4 server.url: is no address: Invalid IPv6 URL"),
        (
            GOOD + "server: {url: 'http://me:pw@h:1'}\n",
            "4 server.url: holds a user or password; use api_key_env for a key",
        ),
        ("[" * 3_000, "0 : is nested deeper than any config; is it the right file?"),
        (
            GOOD + "  patterns: [{name: a, regex: 'x (?P<done>[0-9]+)', sample: 'y 3'}]\n",
            "4 job.patterns[0]: regex does not find its own sample",
        ),
        ("host: gpu01\n", "1 : neither server.log nor job.log is set: give at least one log to follow"),
        ("job: {log: x}\n", "1 host: is missing"),
        ("- host\n", "1 : must be keys and values, such as `host: gpu01`"),
        ("", "1 : must be keys and values, such as `host: gpu01`"),
        ("host: [gpu01\n", "2 : is not YAML here: expected ',' or ']', but got '<stream end>'"),
    ],
)
def test_one_fault(tmp_path: Path, text: str, expected: str) -> None:
    assert faults(tmp_path, text) == [expected]


def test_a_missing_file_a_folder_and_a_binary_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    told = []
    for path in (tmp_path / "none.yaml", tmp_path, tmp_path / "bin"):
        with pytest.raises(ConfigError) as caught:
            load(path)
        told.append(caught.value.faults[0].message)
    assert [text.split(";")[0] for text in told] == [
        "there is no such file",
        "is a folder",
        "is not UTF-8 text (byte 0)",
    ]


def test_numbers_may_be_written_without_a_point(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD + "  grace_s: 5\n")).job.grace_s == 5.0


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_gives_settings_or_faults(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    assert all(fault.message for fault in told(path))


def told(path: Path) -> list[Fault]:
    """The faults of a file; none when it loads. Anything but a ConfigError fails the test."""
    try:
        load(path)
    except ConfigError as error:
        return list(error.faults)
    return []


@pytest.mark.parametrize("text", ["host: &a [*a]\n", "host: gpu01\njob: &j {log: x}\nserver: *j\n"])
def test_an_alias_is_refused_and_never_followed(tmp_path: Path, text: str) -> None:
    assert "YAML alias" in " ".join(faults(tmp_path, text))


def test_thresholds_of_judgement_are_those_of_the_rules(tmp_path: Path) -> None:
    assert limits_of(None) == Limits() == limits_of(load(write(tmp_path, GOOD)))
    own = load(write(tmp_path, GOOD + "judgement:\n  stall_s: 300\n  errors_share: 0.2\n"))
    assert limits_of(own) == replace(Limits(), stall_s=300.0, errors_share=0.2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stal_s: 300", "stall_s"),
        ("errors_share: 5", "at most 1"),
        ("restarts: 1", "at least 2"),
    ],
)
def test_a_threshold_that_is_none_is_refused(tmp_path: Path, line: str, words: str) -> None:
    (fault,) = faults(tmp_path, f"{GOOD}judgement:\n  {line}\n")
    assert fault.startswith("5 judgement.")
    assert words in fault


def test_the_digest_of_the_script_reaches_the_plan(tmp_path: Path) -> None:
    digest = "ab" * 32
    assert plan_of(load(write(tmp_path, f"{GOOD}  script_sha256: {digest}\n"))).script_sha256 == digest
    (fault,) = faults(tmp_path, f"{GOOD}  script_sha256: abc\n")
    assert fault.startswith("4 job.script_sha256")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("server: 5\n", "4 server: should be keys and values, not 5"),
        ("server: {log: []}\n", "4 server.log: should be a list of one or more, not []"),
        ("server: {log: ['']}\n", '4 server.log[0]: should be text that is not empty, not ""'),
        ("server: {engine: tgi}\n", '4 server.engine: should be auto, sglang, vllm, llamacpp or trtllm, not "tgi"'),
        ("server: {metrics: 1}\n", "4 server.metrics: should be true or false, not 1"),
        ("server: {control: {unit: -x}}\n", "4 server.control.unit: begins with -, as an option does"),
        ("datasets: {name: a}\n", '4 datasets: should be a list, not {"name": "a"}'),
        (
            "datasets: [{name: a, prompts: 1.5}]\n",
            "4 datasets[0].prompts: should be a whole number at least 1, not 1.5",
        ),
        ("datasets: [a]\n", '4 datasets[0]: should be keys and values, not "a"'),
        ("keys: [a]\n", '4 keys: should be keys and values, not ["a"]'),
        ("timezone: \n", ""),
        ("theme: null\n", ""),
        ("confirm: null\n", "4 confirm: should be ask or none, not null"),
        ('theme: "\\ud800"\n', "4 theme: holds half a surrogate pair, which is no character"),
        ("themes: {dusk: {primary: nocolour}}\n", "4 themes.dusk.primary: is no colour"),
        ("themes: {dusk: {}}\n", "4 themes.dusk.primary: is missing"),
        (
            "themes: {dusk: {primary: red, prmary: red}}\n",
            "4 themes.dusk.prmary: is no known key; did you mean primary?",
        ),
        (f"server: {{url: 'http://h:1', x{'y' * 80}: 1}}\n", f"4 server.x{'y' * 80}: is no known key; known here: url"),
        (f"host2: {'y' * 80}\n", "4 host2: is no known key; did you mean host?"),
        (f"datasets: [{{name: a, prompts: {'y' * 80}}}]\n", f'not "{"y" * 56}...'),
    ],
)
def test_what_a_value_should_be_is_said_in_words(tmp_path: Path, text: str, expected: str) -> None:
    found = [f"{fault.line} {fault.key}: {fault.message}" for fault in told(write(tmp_path, GOOD + text))]
    assert len(found) == bool(expected)
    assert expected in " ".join(found)


def test_faults_of_all_kinds_are_told_together(tmp_path: Path) -> None:
    text = "host: ''\nserver: {url: x, health_path: y}\njob: {patterns: [{name: a, regex: '('}]}\ndatasets: [{}]\nhots: b\n"
    assert [found.split(":")[0] for found in faults(tmp_path, text)] == [
        "1 host",
        "2 server.health_path",
        "2 server.url",
        "3 job.patterns[0]",
        "4 datasets[0].name",
        "5 hots",
    ]


def test_settings_made_by_hand_and_read_are_one_kind(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD)) == Settings(host="gpu01", job=JobSettings(log="/data/job.log"))
    with pytest.raises(AttributeError):
        load(write(tmp_path, GOOD)).host = "other"  # type: ignore[misc]
