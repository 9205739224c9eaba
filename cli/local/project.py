"""The project of the working folder, by its Git remote."""

import re
import subprocess

PATIENCE_S = 1.0


def project_of_folder() -> str | None:
    """Return the last part of the path of the remote `origin`, without `.git`; None without Git or remote."""
    command = ["git", "config", "--get", "remote.origin.url"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True, encoding="utf-8"
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return re.split(r"[/:\\]", done.stdout.strip().rstrip("/"))[-1].removesuffix(".git") or None
