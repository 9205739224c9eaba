"""Failures of commands: message, remediation and exit code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_LOGGED_IN = 3
    """There is no credential, or it holds no more: `engrain login` is the way out."""
    UNREACHABLE = 4
    """No Engrain server answers: trying later may help."""


class CommandFailed(Exception):
    def __init__(self, message: str, remediation: str = "", *, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.remediation = remediation
        self.code = code


class Unreachable(CommandFailed):
    def __init__(self, message: str, remediation: str = "") -> None:
        super().__init__(message, remediation, code=ExitCode.UNREACHABLE)


class NotLoggedIn(CommandFailed):
    """No credential, or one that the server does not accept any more."""

    def __init__(self, message: str, remediation: str) -> None:
        super().__init__(message, remediation, code=ExitCode.NOT_LOGGED_IN)


class Refused(CommandFailed):
    """The server refused a request."""

    def __init__(self, status: int, error: str, message: str, remediation: str, retry_after_s: float | None) -> None:
        super().__init__(message, remediation, code=ExitCode.NOT_LOGGED_IN if status == 401 else ExitCode.FAILED)
        self.status = status
        self.error = error
        """The stable code of the refusal."""
        self.retry_after_s = retry_after_s


@contextmanager
def understanding(address: str) -> Iterator[None]:
    """Turn a missing field of an answer into a sentence.

    Raises:
        Unreachable: It does.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise Unreachable(
            f"{address} gave an answer that this command does not understand.",
            "Are this program and the server of one version? `engrain version` says what this one is.",
        ) from None


def shown(text: str) -> str:
    """Replace control and invisible characters, so that a foreign text is safe in a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"Warning: {shown(text)}", err=True)


def guarded(command: Callable[[], None]) -> int:
    """Run a command; print why it failed, and return the exit code."""
    try:
        command()
    except CommandFailed as failure:
        typer.echo(f"Error: {shown(failure.message)}", err=True)
        if failure.remediation:
            typer.echo(shown(failure.remediation), err=True)
        return int(failure.code)
    return int(ExitCode.DONE)
