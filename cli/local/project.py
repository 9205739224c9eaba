"""The project of a working folder, named by its Git remote."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path

_TIMEOUT_S = 1.0


def project_of_folder(folder: Path | None = None) -> str | None:
    """Return the repository's name in the remote `origin` of a folder, or None; the current folder by default."""
    command = ("git", "config", "--get", "remote.origin.url")
    with suppress(OSError, subprocess.SubprocessError):
        found = subprocess.run(  # noqa: S603 - a fixed command
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
        return re.split(r"[/:\\]", re.sub(r"(\.git)?/*$", "", found.stdout.strip()))[-1] or None
    return None
