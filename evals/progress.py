"""Progress on standard error; standard output is the report."""

import sys


def progress(step: str) -> None:
    print(f"{step} …", file=sys.stderr, flush=True)  # noqa: T201 - progress of a command
