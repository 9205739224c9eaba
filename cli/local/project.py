"""The project of a folder, by its Git remote."""

import re
import subprocess
from pathlib import Path

PATIENCE_S = 1.0


def project_of_folder(folder: Path | None = None) -> str | None:
    """Return the last part of the path of the remote `origin`, without `.git`; None without Git or remote."""
    command = ["git", "-C", str(folder or "."), "config", "--get", "remote.origin.url"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True, encoding="utf-8"
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return re.split(r"[/:\\]", done.stdout.strip().rstrip("/"))[-1].removesuffix(".git") or None
