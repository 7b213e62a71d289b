"""Every error that the remote half raises, cut by what the caller can do about it.

RemoteError          host, what was tried, a sentence for a person; ``retryable`` says whether to try again
  CannotConnect      never got in: name, route, refusal, timeout        (retryable)
    LoginRefused     keys or user                                       (not)
    HostKeyRejected  unknown or changed; never silenced                 (not)
  LinkLost           was in, is out                                     (retryable)
  CommandFailed      argv, exit status, tail of stderr
    NoSession        the connection gave the command no session, or no end of it; no word of the command's own
  CommandTimedOut    argv, seconds
  FileUnavailable    a remote file is missing, a folder, or unreadable  (retryable: it may yet come)
  HttpUnavailable    no HTTP answer: refused, reset, timed out          (retryable)
  NotOurProcess      the pid now belongs to another
  JobAlreadyRuns     a start was refused because a job runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class RemoteError(Exception):
    """Something that was asked of the host did not happen.

    Args:
        message: One sentence for a person: what was tried, what happened, what to do.
        host: The host's name as the operator wrote it.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, host: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.host = host


class CannotConnect(RemoteError):  # noqa: N818
    """The connection was never made: name, route, refusal or timeout."""

    retryable: ClassVar[bool] = True


class LoginRefused(CannotConnect):
    """The host answered and refused every key offered."""

    retryable: ClassVar[bool] = False


class HostKeyRejected(CannotConnect):
    """The host's key is unknown, or is not the one that is known; never silenced."""

    retryable: ClassVar[bool] = False


class LinkLost(RemoteError):  # noqa: N818
    """The connection was up and is gone."""

    retryable: ClassVar[bool] = True


class CommandFailed(RemoteError):  # noqa: N818
    """A remote command ended with a status other than 0.

    Args:
        argv: The command, as a list.
        status: Its exit status; negative for a signal.
        stderr: The tail of what it said.
    """

    def __init__(
        self, message: str, *, host: str = "", argv: Sequence[str] = (), status: int = 1, stderr: str = ""
    ) -> None:
        super().__init__(message, host=host)
        self.argv = tuple(argv)
        self.status = status
        self.stderr = stderr


class NoSession(CommandFailed):
    """The connection lives and gave the command no session (MaxSessions), or its session ended without a status."""


class CommandTimedOut(RemoteError):  # noqa: N818
    """A remote command did not end in the time it had.

    Args:
        argv: The command, as a list.
        seconds: The time it had.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, message: str, *, host: str = "", argv: Sequence[str] = (), seconds: float = 0.0) -> None:
        super().__init__(message, host=host)
        self.argv = tuple(argv)
        self.seconds = seconds


class FileUnavailable(RemoteError):  # noqa: N818
    """A remote file is missing, is a folder, or may not be read; it may yet come."""

    retryable: ClassVar[bool] = True


class HttpUnavailable(RemoteError):  # noqa: N818
    """No HTTP answer came: refused, reset, or not in time."""

    retryable: ClassVar[bool] = True


class NotOurProcess(RemoteError):  # noqa: N818
    """The pid now belongs to another process; nothing was signalled."""


class JobAlreadyRuns(RemoteError):  # noqa: N818
    """A start was refused because a job runs already; the message names it."""
