"""The program that is carried to the host: its pieces, its files, and the step that carries it."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote import step
from remote.errors import CommandFailed, CommandTimedOut, NoSession, NotOurProcess
from remote.files import check_syntax, put_file, read_file
from remote.host import Completed
from remote.local import LocalHost
from remote.payload import procctl, starts
from remote.probe import probe
from remote.step import ask, ask_stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

HOST = LocalHost()
PYTHON = sys.executable
PAYLOADS = [path for path in Path(procctl.__file__).parent.glob("*.py") if path.name != "run_inference.py"]


def files_in(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -- the program


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.name)
def test_it_is_written_in_the_language_of_python_3_8_and_imports_nothing_of_ours(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    # Those that travel with it; procctl travels with all.
    others = {f"remote.payload.{one.stem}" for one in PAYLOADS if path.name != "procctl.py"} - {
        "remote.payload.__init__"
    }
    assert imported <= sys.stdlib_module_names | {"collections.abc"} | others


def test_every_file_carried_has_its_verbs_and_each_verb_its_file() -> None:
    names = {path.stem for path in PAYLOADS if "__main__" in path.read_text()}  # others are parts of these
    assert set(step.VERBS_OF.values()) | {"procctl"} == names
    for verb, name in step.VERBS_OF.items():
        assert f'"{verb}": ' in (Path(procctl.__file__).parent / f"{name}.py").read_text()


async def test_every_file_runs_on_the_host_as_it_is_carried(tmp_path: Path) -> None:
    request = {
        "run_dir": str(tmp_path), "argv": ["true"], "log": str(tmp_path / "log"), "wait_s": 5, "watch_s": 0.05, "port": 1,
        "sent": True, "unit": "longwait-none.service", "unit_of": "system",
        "boot_id": "x", "pid": 1, "start_ticks": 1, "grace_s": 1,
    }  # fmt: skip
    said: dict[str, object] = {}
    for verb in step.VERBS_OF:
        try:
            said[verb] = [answer async for answer in ask_stream(HOST, PYTHON, verb, request, silence_s=20)]
        except (CommandFailed, NotOurProcess) as error:
            said[verb] = error.message
    assert all(said.values()), said
    assert [type(said[verb]) for verb in ("discover", "clients", "checks", "gpu", "command")] == [list] * 5
    assert all(
        "longwait-none" in str(said[verb]) or "systemctl" in str(said[verb]) for verb in ("unit_find", "unit_start")
    )


def runs(python: str) -> bool:
    """Whether an interpreter is there; a version manager may have the name alone."""
    return (
        shutil.which(python) is not None
        and subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.parametrize("python", [PYTHON, *(name for name in ("python3.8", "python3.9", "python3.13") if runs(name))])
async def test_it_runs_on_each_python_that_is_here(python: str) -> None:
    assert (await probe(HOST, python)).python.startswith("3.")


def test_the_table_has_this_process_and_its_lineage() -> None:
    table = procctl.read_table()
    me = table[os.getpid()]
    assert (me.ppid, me.pgid, me.sid) == (os.getppid(), os.getpgid(0), os.getsid(0))
    assert {me.pid, me.ppid} <= procctl.lineage(me.pid, table)
    assert me.pid in procctl.below({me.ppid}, table)


def test_a_name_in_the_table_may_look_like_fields(tmp_path: Path) -> None:
    odd = tmp_path / "x) R 1 1 1"
    odd.symlink_to(shutil.which("sleep") or "/bin/sleep")
    with subprocess.Popen([odd, "600"], start_new_session=True) as child:
        proc = procctl.read_stat(child.pid)
        assert proc is not None
        assert (proc.ppid, proc.pgid, proc.sid) == (os.getpid(), child.pid, child.pid)
        child.kill()


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen([PYTHON, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        proc = procctl.read_stat(child.pid)
        assert proc is not None
        assert not proc.alive
        assert child.pid not in procctl.read_table()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("python run.py --config a", ["run.py"]),
        ("/opt/env/bin/python3.11 -u -X dev -W error /data/run.py", ["/data/run.py"]),
        ("python3 -m torch.distributed.run run.py", ["torch.distributed.run", "run.py"]),
        ("python3 -um cProfile run.py", ["cProfile", "run.py"]),
        ("python3 -m torch.distributed.run --nproc-per-node 8 run.py other.py", ["torch.distributed.run", "run.py"]),
        ("python /opt/env/bin/torchrun --nproc-per-node=8 run.py", ["/opt/env/bin/torchrun", "run.py"]),
        ("python -mtorch.distributed.run run.py", ["-mtorch.distributed.run", "run.py"]),
        ("python -m torch.distributed.run", ["torch.distributed.run"]),
        ("python3 -m compare run.py", ["compare"]),
        ("python3 -m compare --with run.py", ["compare"]),
        ("python3 -m", []),
        ("python other.py --compare-with run.py", ["other.py"]),
        ("python -Xdev -Werror -OO -- run.py", ["run.py"]),
        ("python -uX dev run.py", ["run.py"]),
        ("python --check-hash-based-pycs never run.py", ["run.py"]),
        ("python -cpass run.py", []),
        ("python - run.py", []),
        ("python -c pass run.py", []),
        ("python -uc pass run.py", []),
        ("python", []),
        ("pypy3 run.py", ["run.py"]),
        ("python-config run.py", ["python-config"]),
        ("./run.py --fast", ["./run.py"]),
        ("vim run.py", ["vim"]),
        ("julia batch.jl run.py", ["julia", "batch.jl"]),
        ("julia -e 1 run.py", ["julia"]),
    ],
)
def test_what_a_command_line_runs(line: str, words: list[str]) -> None:
    assert procctl.program_words(line.split()) == words


@pytest.mark.parametrize(
    ("line", "match", "found"),
    [
        ("python3 -u run.py --config a", "run.py", True),
        ("python3 -u run.py --config a", "python3 -u run.py", True),
        ("python3 -u run.py --config a", "run.py --config a", True),
        ("python3 -u run.py --config a", "--config a", False),
        ("python3 -u run.py --config a", "python3 -u", False),
        ("python3 other.py --with run.py", "run.py", False),
        ("python3 other.py run.py", "run", False),
        ("python3 run.py run.py", "run.py", True),
        ("python3 -m job.run --x", "job.run", True),
        ("python3 -m torch.distributed.run --nproc 8 run.py", "run.py", True),
        ("./serve --job run.py", "run.py", False),
        ("./serve --job run.py", "serve", True),
    ],
)
def test_a_match_is_looked_for_where_the_line_says_what_it_runs(line: str, match: str, found: bool) -> None:
    assert procctl.names_program(line.split(), match) is found


@given(st.lists(st.text("ab -."), max_size=4), st.text("xyz", min_size=1))
def test_no_argument_of_a_script_is_matched(arguments: list[str], match: str) -> None:
    assert not procctl.names_program(["python3", "other", *arguments, match, f"--with={match}"], match)
    assert procctl.names_program(["python3", f"{match}.py", *arguments], match)


@given(st.lists(st.text(), min_size=1))
def test_any_command_line_can_be_looked_at(argv: list[str]) -> None:
    assert set(procctl.program_words(argv)) <= set(argv)


@given(st.dictionaries(st.text(), st.text(st.characters(categories=["Cs", "L", "Cc"]))))
def test_an_answer_is_one_line_of_ascii(fields: dict[str, str]) -> None:
    line = procctl.encode(fields)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert step.encode("find", fields).isascii()


@pytest.mark.parametrize("without_pidfd", [False, True])
def test_a_signal_reaches_the_proven_process_alone(monkeypatch: pytest.MonkeyPatch, without_pidfd: bool) -> None:
    if without_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen(["sleep", "600"]) as child:
        proc = procctl.read_stat(child.pid)
        assert proc is not None
        assert not procctl.send(proc._replace(start_ticks=proc.start_ticks + 1), signal.SIGKILL)
        assert child.poll() is None
        assert procctl.send(proc, signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM
        assert not procctl.send(proc, signal.SIGTERM)


def test_the_tail_of_a_log_starts_where_the_job_did(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\n" + b"".join(b"%d\n" % number for number in range(30)) + b"\xff")
    assert starts.log_tail(str(log), 4) == [*(str(number) for number in range(11, 30)), "\ufffd"]
    assert starts.log_tail(str(log), log.stat().st_size) == []
    assert len(starts.log_tail(str(log), 10_000)) == 20, "it was truncated meanwhile"


# -- put and read


async def test_a_file_is_put_in_place_and_the_former_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "run -x 'q' $(no)\n.py"
    first = await put_file(HOST, PYTHON, str(path), b"first")
    assert (first.changed, first.kept) == (True, None)
    path.chmod(0o750)
    second = await put_file(HOST, PYTHON, str(path), b"second\0\xff" * 100_000)
    assert second.kept is not None
    digest = hashlib.sha256(b"first").hexdigest()[:8]
    assert re.fullmatch(re.escape(str(path)) + rf"\.\d{{8}}T\d{{6}}Z\.{digest}", second.kept)
    assert files_in(tmp_path) == {path.name: b"second\0\xff" * 100_000, Path(second.kept).name: b"first"}
    assert path.stat().st_mode & 0o7777 == 0o750


async def test_the_same_content_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_bytes(b"same")
    before = path.stat()
    put = await put_file(HOST, PYTHON, str(path), b"same")
    assert (put.changed, put.kept) == (False, None)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert files_in(tmp_path) == {"run.py": b"same"}


async def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "v1.py").write_bytes(b"old")
    link = tmp_path / "run.py"
    link.symlink_to("v1.py")
    put = await put_file(HOST, PYTHON, str(link), b"new")
    assert link.is_symlink()
    assert put.path == str(tmp_path / "v1.py")
    assert link.read_bytes() == b"new"


async def test_only_the_newest_of_the_kept_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    for day in range(1, 5):
        (tmp_path / f"run.py.2026010{day}T000000Z.00000000").write_bytes(b"%d" % day)
    (tmp_path / "run.py.notes").write_bytes(b"mine")
    path.write_bytes(b"former")
    put = await put_file(HOST, PYTHON, str(path), b"new", keep=3)
    assert put.kept is not None
    kept = {Path(put.kept).name, "run.py.20260103T000000Z.00000000", "run.py.20260104T000000Z.00000000"}
    assert set(files_in(tmp_path)) == {"run.py", "run.py.notes", *kept}


@pytest.mark.parametrize(
    ("change", "words"),
    [({"size": 9}, "5 bytes early"), ({"sha256": "0" * 64}, "not what was sent"), ({"size": 3}, "not what was sent")],
)
async def test_a_damaged_upload_leaves_the_former_file(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = tmp_path / "run.py"
    path.write_bytes(b"former")
    request = {"path": str(path), "size": 4, "sha256": hashlib.sha256(b"data").hexdigest(), **change}
    with pytest.raises(CommandFailed, match=words):
        await ask(HOST, PYTHON, "put", request, data=b"data")
    assert files_in(tmp_path) == {"run.py": b"former"}


async def test_puts_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    contents = [bytes([65 + number]) * 500_000 for number in range(4)]
    await asyncio.gather(*(put_file(HOST, PYTHON, str(path), content) for content in contents))
    assert path.read_bytes() in contents
    assert not [name for name in files_in(tmp_path) if name.startswith(".")]
    assert len(files_in(tmp_path)) == 4


async def test_what_can_not_be_put_or_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="not an ordinary file"):
        await put_file(HOST, PYTHON, str(tmp_path), b"")
    with pytest.raises(CommandFailed, match="No such file"):
        await put_file(HOST, PYTHON, str(tmp_path / "missing" / "run.py"), b"")
    with pytest.raises(CommandFailed, match="not an ordinary file"):
        await read_file(HOST, PYTHON, str(tmp_path))


async def test_a_file_is_read_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    assert await read_file(HOST, PYTHON, str(path)) is None
    path.write_bytes(bytes(range(256)))
    file = await read_file(HOST, PYTHON, str(path), max_bytes=10)
    assert file is not None
    assert (file.content, file.size, file.sha256) == (
        bytes(range(10)),
        256,
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )


# -- compile and probe


@pytest.mark.parametrize(("source", "line"), [(b"a = 1\nb = )\n", 2), (b"a = 1\n\nreturn a", 3), (b"if:", 1)])
async def test_a_script_that_is_none_is_told_with_its_line(source: bytes, line: int) -> None:
    fault = await check_syntax(HOST, PYTHON, "run.py", source)
    assert fault is not None
    assert fault.line == line
    assert fault.message
    assert fault.text == source.decode().split("\n")[line - 1]


@pytest.mark.parametrize("source", [b"\xff\xfe", b"a = 1\0", b"(" * 100_000])
async def test_bytes_that_are_no_program_are_told_too(source: bytes) -> None:
    fault = await check_syntax(HOST, PYTHON, "run.py", source)
    assert fault is not None
    assert fault.message


async def test_a_good_script_is_neither_run_nor_written(tmp_path: Path) -> None:
    source = f"open({str(tmp_path / 'ran')!r}, 'w')\nassert (1, 'a warning')\n".encode()
    assert await check_syntax(HOST, PYTHON, str(tmp_path / "run.py"), source) is None
    assert files_in(tmp_path) == {}


async def test_a_host_is_probed(tmp_path: Path) -> None:
    about = await probe(
        HOST, PYTHON, paths=[str(tmp_path), "/nowhere/at/all"], modules=["httpx", "json", "no_such_one"]
    )
    assert about.boot_id == procctl.boot_id()
    assert about.modules["httpx"]
    assert about.modules["no_such_one"] is None
    here, nowhere = about.paths
    assert (here.exists, here.is_dir, here.folder_writable) == (True, True, True)
    assert here.free_bytes
    assert (nowhere.exists, nowhere.folder_writable, nowhere.free_bytes) == (False, False, None)


# -- the step


class Scripted(LocalHost):
    """A host whose commands give what a test says."""

    def __init__(self, stdout: bytes = b"", stderr: bytes = b"", status: int = 0) -> None:
        self.done = Completed((), status, stdout, stderr)
        self.silent = asyncio.Event()

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        del argv, stdin, timeout_s, check
        return self.done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        del argv
        yield self._said()

    async def _said(self) -> AsyncIterator[bytes]:
        yield self.done.stdout
        await self.silent.wait()


async def test_what_a_login_script_prints_is_passed_over() -> None:
    assert await ask(Scripted(b'Welcome\n{"a": 1}\nbye\n'), "python3", "find", {}) == {"a": 1}
    with pytest.raises(CommandFailed, match="login script"):
        await ask(Scripted(b"Welcome\n"), "python3", "find", {})


@pytest.mark.parametrize(
    ("stderr", "status", "words"),
    [
        (b"bash: python3: command not found", 127, "There is no Python"),
        (b"longwait-old-python 3.6.15", 1, r"is Python 3\.6\.15; longwait needs 3\.8"),
        (b"Unknown option: -I\nusage: ...\nTry `python -h'", 2, "is an old Python; longwait needs 3.8"),
        (b"Traceback\nMemoryError", 1, "failed: MemoryError"),
        (b"Traceback\nOSError: no response.", 1, r"failed: OSError: no response\.$"),
        (b"", -9, "exit status -9"),
    ],
)
async def test_a_python_that_does_not_work_is_told_in_a_sentence(stderr: bytes, status: int, words: str) -> None:
    with pytest.raises(CommandFailed, match=words):
        await ask(Scripted(b"", stderr, status), "python3", "find", {})


class Crowded(Scripted):
    """A host that opens no session."""

    refusal = NoSession("gpu01 opened no session for a command: open failed.", argv=("x",))

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        del argv, stdin, timeout_s, check
        raise self.refusal

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        self.refusal.argv = tuple(argv)
        async for _ in self._said():
            raise self.refusal
        yield self._said()


async def test_a_refused_session_is_no_fault_of_python() -> None:
    with pytest.raises(NoSession) as asked:
        await ask(Crowded(), "python3", "find", {})
    with pytest.raises(NoSession) as streamed:
        _ = [answer async for answer in ask_stream(Crowded(), "python3", "stop", {}, silence_s=1)]
    assert asked.value is streamed.value is Crowded.refusal


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    answers = ask_stream(Scripted(b'Welcome\n{"step": 1}\n{"st'), "python3", "stop", {}, silence_s=0.05)
    assert await anext(answers) == {"step": 1}
    with pytest.raises(CommandTimedOut, match="has said nothing"):
        await anext(answers)
