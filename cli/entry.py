"""The program `engrain`."""

import os
import sys


def main() -> None:
    """Run the command line; clients start `engrain mcp` for each session, which needs none of its other commands."""
    if sys.argv[1:] == ["mcp"]:
        from cli.local.proxy import run_mcp  # noqa: PLC0415 - a third of the time until its first answer

        sys.exit(run_mcp(os.environ, url=None))
    from cli.main import app  # noqa: PLC0415 - as above

    app()
