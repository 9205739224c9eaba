"""How much memory a process holds."""

import re
import subprocess
from pathlib import Path

_MB = 1024 * 1024


def resident_mb(pid: int) -> tuple[float, float | None]:
    """Return a process's resident memory and its peak in MB; the peak is known on Linux only."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        found = {name: int(kilobytes) for name, kilobytes in re.findall(r"(\w+):\s+(\d+) kB", status.read_text())}
        return found["VmRSS"] * 1024 / _MB, found["VmHWM"] * 1024 / _MB
    answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)  # noqa: S603, S607 - our own arguments
    return int(answer.stdout) * 1024 / _MB, None
