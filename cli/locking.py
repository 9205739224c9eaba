"""Locks between commands."""

import fcntl
import math
import os
import time
from pathlib import Path
from typing import BinaryIO

_PAUSE_S = 0.05


def locked_file(path: Path, timeout_s: float = math.inf) -> BinaryIO:
    """Make a file and lock it until it is closed; wait for an earlier lock.

    Raises:
        TimeoutError: Another process kept it locked.
        OSError: It cannot be made.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 - the caller does
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise TimeoutError(f"{path} stays locked by another command.") from None
            time.sleep(_PAUSE_S)
