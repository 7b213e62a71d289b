"""The arrows, seen at run time: what each ground must not pull in, and who owns the import names."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"textual", "rich", "asyncssh", "httpx", "psutil", "msgspec", "prometheus_client", "cryptography"}


def loaded_by(statement: str) -> set[str]:
    """Top-level packages in memory after a statement ran in a fresh interpreter."""
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import console", {"click", *HEAVY}),
        ("import console.cli", HEAVY),
        ("import console.job.tracker", {"remote", "widgets", *HEAVY}),
        ("import console.feed, console.control", {"textual", "rich", "asyncssh", "httpx", "psutil", "widgets"}),
        ("import remote.tail, remote.process, remote.link", {"console", "widgets", *HEAVY}),
        ("import remote.ssh", {"console", "widgets", "textual", "rich", "psutil", "httpx"}),
        ("import remote.demo", {"console", "widgets", *HEAVY}),
        ("import widgets.gauge, widgets.log_view", {"console", "remote", "asyncssh", "httpx", "psutil", "yaml"}),
        (
            "import console.screens.replay, console.replay_commands, console.replay_feed, console.replay_files",
            {"asyncssh", "h11", "httpx", "psutil", "prometheus_client", "sqlite3"},
        ),
        ("import console.app", {"asyncssh", "httpx", "psutil", "prometheus_client", "remote.ssh"}),
    ],
)
def test_a_ground_pulls_in_nothing_from_another(statement: str, absent: set[str]) -> None:
    assert loaded_by(statement) & absent == set()


def test_no_dependency_owns_our_import_names() -> None:
    owners = packages_distributions()
    assert {name: set(owners.get(name, [])) - {"longwait"} for name in ("console", "widgets", "remote")} == {
        "console": set(),
        "widgets": set(),
        "remote": set(),
    }


@pytest.mark.parametrize(
    ("library", "owners"),
    [
        ("asyncssh", {"remote/ssh", "remote/demo/"}),
        ("httpx", {"remote/http.py", "remote/payload/", "remote/demo/"}),
        ("psutil", {"remote/local.py"}),
    ],
)
def test_a_library_is_imported_where_it_is_translated(library: str, owners: set[str]) -> None:
    importers = {
        str(path.relative_to(ROOT))
        for folder in ("console", "widgets", "remote")
        for path in (ROOT / folder).rglob("*.py")
        if library in imports_of(path)
    }
    strangers = {path for path in importers if not any(path.startswith(owner) for owner in owners)}
    assert importers
    assert strangers == set()


def imports_of(path: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, for typing too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_the_payload_imports_nothing_of_ours() -> None:
    standard = set(sys.stdlib_module_names) | {"aiohttp", "httpx", "yaml"}
    for path in (ROOT / "remote" / "payload").glob("*.py"):
        # Those that are carried together import one another; tests/remote/test_procctl.py sees that it is nothing else.
        carried = {"remote"} if "Carried to the host with" in path.read_text(encoding="utf-8") else set()
        assert imports_of(path) - standard - {"__future__"} - carried == set(), path.name
