"""Locks between commands."""

import fcntl
import os
from pathlib import Path
from typing import BinaryIO


def locked_file(path: Path) -> BinaryIO:
    """Make a file and lock it until it is closed, after whoever has it locked; OSError if it cannot be made."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 - the caller does
    fcntl.flock(file, fcntl.LOCK_EX)
    return file
