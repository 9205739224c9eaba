"""Progress on standard error, so that standard output holds nothing but the report."""

import sys


def progress(step: str) -> None:
    """Say which step begins."""
    print(f"{step} …", file=sys.stderr, flush=True)  # noqa: T201 - progress of a command
