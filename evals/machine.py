"""Facts without which a figure says nothing: the machine, the versions, the code and the model."""

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stores import processor

ENGINES = ("lancedb", "tantivy", "ladybug", "kuzu", "onnxruntime", "sqlalchemy", "uvicorn", "starlette", "pydantic")
INSTRUCTIONS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8", "asimddp", "i8mm")
"""By which onnxruntime multiplies integers of a byte, where there are any."""
UNKNOWN = "unknown"
"""What a server elsewhere does not say of itself."""
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, and what it runs on."""

    commit: str
    """Empty for an installed package."""
    version: str
    model: str
    """A hash of the model files in the package; the name of another model, or `none`."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Empty where it is not known."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of libraries: the product's, and those that the figures are computed with."""


def facts() -> dict[str, object]:
    """Say what the figures were measured on."""
    return {
        "cores": processor.processors(),
        "processor": processor.model_name(),
        "instructions": instructions(),
        "memory_gb": memory_gb(),
        "load_1min": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "engrain": version("engrain"),
        **{name: version(name) for name in ENGINES},
    }


def instructions() -> str | None:
    """Return which of those the processor has that figures hang on, as products of integers round otherwise by them.

    None where the system does not say it in /proc/cpuinfo.
    """
    found = processor.instructions() or frozenset()
    return " ".join(each for each in INSTRUCTIONS if each in found) or None


def memory_gb() -> float | None:
    """Return the memory of the machine; None where the system does not say it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return None


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def model_digest() -> str:
    """Return a hash of the model files that are in this package."""
    sha = hashlib.sha256()
    folder = _ROOT / "stores" / "models"
    for path in sorted([*folder.glob("*.onnx"), *folder.glob("*.txt")]):
        sha.update(path.name.encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]
