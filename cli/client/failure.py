"""Failures of commands: message, remediation and exit code."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from stores.errors import EngrainError


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_LOGGED_IN = 3
    UNREACHABLE = 4


class CommandFailed(Exception):
    code = ExitCode.FAILED

    def __init__(self, message: str, remediation: str = "", *, code: ExitCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remediation = remediation
        self.code = code or self.code


class Unreachable(CommandFailed):
    code = ExitCode.UNREACHABLE


class TimedOut(Unreachable):
    """The server may have received the request: it is not to be sent again."""


class NotLoggedIn(CommandFailed):
    code = ExitCode.NOT_LOGGED_IN


class Refused(CommandFailed):
    """The server refused a request; `error` is its stable code."""

    def __init__(self, status: int, error: str, message: str, remediation: str, retry_after_s: float | None) -> None:
        super().__init__(message, remediation, code=ExitCode.NOT_LOGGED_IN if status == 401 else None)
        self.status = status
        self.error = error
        self.retry_after_s = retry_after_s


class NotFound(Refused):
    """A refusal with the status 404."""


@contextmanager
def understanding(address: str) -> Iterator[None]:
    """Raise `Unreachable` for a missing field in an answer."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise Unreachable(
            f"{address} gave an answer that this command does not understand.",
            "Are this program and the server of one version? `engrain version` says what this one is.",
        ) from None


def shown(text: str) -> str:
    """Replace control and invisible characters: untrusted text must be safe in a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def print_json(value: object) -> None:
    """Print an answer for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def warn(text: str) -> None:
    print(f"Warning: {shown(text)}", file=sys.stderr)


def guarded(command: Callable[[], int | None]) -> int:
    """Run a command, print its failure, return the exit code."""
    try:
        return command() or int(ExitCode.DONE)
    except BrokenPipeError:
        raise
    except OSError as error:
        failure = CommandFailed(str(error))
    except EngrainError as error:
        is_general = error.remediation == error.default_remediation
        failure = CommandFailed(error.message, "" if is_general else error.remediation)
    except CommandFailed as error:
        failure = error
    print(f"Error: {shown(failure.message)}", file=sys.stderr)
    if failure.remediation:
        print(shown(failure.remediation), file=sys.stderr)
    return int(failure.code)
