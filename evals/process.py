"""Memory and processor time of a process."""

import os
import re
import subprocess
from pathlib import Path

_MB = 1024 * 1024


def resident_mb(pid: int) -> tuple[float, float | None]:
    """Resident memory and its peak in MB; the peak on Linux only."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        found = {name: int(kilobytes) for name, kilobytes in re.findall(r"(\w+):\s+(\d+) kB", status.read_text())}
        return found["VmRSS"] * 1024 / _MB, found["VmHWM"] * 1024 / _MB
    answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)  # noqa: S603, S607 - our own arguments
    return int(answer.stdout) * 1024 / _MB, None


def processor_ms(pid: int) -> float | None:
    """Processor time so far, in steps of about ten milliseconds, on Linux only."""
    line = Path(f"/proc/{pid}/stat")
    if not line.exists():
        return None
    # User and system time are the 12th and 13th field after the command's name, which is in parentheses.
    fields = line.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")
