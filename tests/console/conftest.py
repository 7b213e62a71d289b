"""A job, the operator's new script for it, and a journal: what tests of acts begin with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from console.journal import Journal
from tests.console.acts_done import NEW
from tests.jobbox import Box, job_box

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run") as made:
        yield made


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The operator's new script, on this side."""
    path = tmp_path / "new $(x) '.py"
    path.write_text(NEW)
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "j", host="local", clock=lambda: datetime.now(UTC), user="me@desk")
