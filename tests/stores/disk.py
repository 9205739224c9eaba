"""Text that is still on disk after an engine deleted it or was killed."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path


def killed(script: str, folder: Path, counts: tuple[int, ...]) -> Iterator[int]:
    """Run a script that prints a number for each write; kill it after so many more: the last number that it told."""
    told = 0
    for goal in counts:
        command = [sys.executable, "-c", textwrap.dedent(script), str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            goal += told
            while told < goal:
                told = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
        yield told


def on_disk(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
