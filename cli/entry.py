"""The program `engrain`."""

import os
import sys

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells know it."""


def main() -> None:
    """Run the command line; clients start `engrain mcp` for each session, which needs none of its other commands."""
    # None if the parent process closed it.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - for as long as the program runs
    try:
        if sys.argv[1:] == ["mcp"]:
            from cli.local.proxy import run_mcp  # noqa: PLC0415 - a third of the time until its first answer

            sys.exit(run_mcp(os.environ, url=None))
        from cli.main import app  # noqa: PLC0415 - as above

        app()
    except KeyboardInterrupt:  # while a module is imported; commands handle their own
        sys.exit(INTERRUPTED)
