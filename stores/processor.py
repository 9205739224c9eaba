"""CPU count and thread priority."""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")
PATIENCE = 5
"""Nice value of background threads."""


def processors() -> int:
    """CPUs that this process may use, by affinity and cgroup quota."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return min(len(os.sched_getaffinity(0)), _quota())


def _quota() -> int:
    try:
        quota, period = QUOTA_FILE.read_text().split()
        return max(int(quota) // int(period), 1)
    except (OSError, ValueError):  # no cgroup v2, or `max`
        return sys.maxsize


def yield_to_others() -> None:
    """Lower the priority of the calling thread (Linux only)."""
    if sys.platform == "linux":  # elsewhere a priority belongs to the whole process
        with suppress(OSError):
            own = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, own, max(PATIENCE, os.getpriority(os.PRIO_PROCESS, own)))
