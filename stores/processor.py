"""What the processor can do at once: by that the larger models in the package take 5 ms for a question, or 14."""

from functools import cache
from pathlib import Path

BYTES_AT_ONCE = frozenset({"avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm"})
"""Instructions that multiply bytes and add up the products in one step."""


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
