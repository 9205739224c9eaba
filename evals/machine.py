"""Machine, processes and library versions of a measurement, and times of calls."""

import math
import os
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
LIBRARIES = (
    "lancedb", "tantivy", "ladybug", "kuzu", "onnxruntime", "sqlalchemy", "uvicorn", "starlette", "pydantic", "numpy",
    "ir-measures",
)  # fmt: skip
_MB = 1024 * 1024


def machine() -> dict[str, object]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_1min": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return found[1] if found else platform.processor()


def library_versions() -> dict[str, str]:
    installed = {each.name.lower().replace("_", "-"): each.version for each in distributions() if each.name}
    return {name: installed[name] for name in LIBRARIES if name in installed}


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


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles by nearest rank."""

    p50: float
    p95: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return percentiles; NaN without values."""
    if not values:
        return Spread(math.nan, math.nan, 0)
    p50, p95 = map(float, np.percentile(values, (50, 95), method="inverted_cdf"))
    return Spread(p50, p95, len(values))


def timed_ms(action: Callable[[Item], object], items: Iterable[Item]) -> list[float]:
    """Return the milliseconds of each call."""
    times = []
    for item in items:
        start = time.perf_counter()
        action(item)
        times.append((time.perf_counter() - start) * 1000)
    return times


def pace_ms() -> float:
    """Milliseconds of a fixed loop: a shared machine's pace varies twofold."""
    return statistics.median(timed_ms(_loop, range(5)))


def _loop(_: object) -> int:
    total = 0
    for number in range(200_000):
        total += number
    return total
