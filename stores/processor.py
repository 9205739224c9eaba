"""What the processor can do at once, and who is to have it.

By the instructions that it has the larger models in the package take 5 ms for a question, or 14.
"""

import os
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

BYTES_AT_ONCE = frozenset({"avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm"})
"""Instructions that multiply bytes and add up the products in one step."""
QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")
PATIENCE = 5
"""By how much threads that nobody waits for step back, in the kernel's steps of politeness (0 to 19)."""


def processors() -> int:
    """Return how many processors this process may use, by its affinity and by the quota of its container."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return min(len(os.sched_getaffinity(0)), _quota())


def _quota() -> int:
    """Processors that a control group (version 2) leaves to this process, one at least; as good as all without."""
    try:
        quota, period = QUOTA_FILE.read_text().split()
        return max(int(quota) // int(period), 1)
    except (OSError, ValueError):  # none, `max`, or another version
        return sys.maxsize


def yield_to_others() -> None:
    """Let the calling thread have a processor only as long as nobody who is waited for wants it."""
    if sys.platform == "linux":  # elsewhere a priority is the whole process's
        with suppress(OSError):
            own = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, own, max(PATIENCE, os.getpriority(os.PRIO_PROCESS, own)))


def model_name() -> str | None:
    """Return the name of the processor; None where the system does not say it in /proc/cpuinfo."""
    names = (line.partition(":")[2].strip() for line in _said() if line.startswith("model name"))
    return next(names, None) or None


def instructions() -> frozenset[str] | None:
    """Return the names of all instructions that it has beyond the usual ones; None where the system does not say it."""
    flags = next((line for line in _said() if line.lower().startswith(("flags", "features"))), None)
    return None if flags is None else frozenset(flags.partition(":")[2].split())


@cache
def multiplies_bytes_at_once() -> bool:
    """Tell whether it has any of `BYTES_AT_ONCE`; where that is not known, it is taken to have one."""
    found = instructions()
    return found is None or not found.isdisjoint(BYTES_AT_ONCE)


def _said() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
