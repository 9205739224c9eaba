"""Facts without which a figure says nothing: the machine, the versions, the code and the model."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ENGINES = ("lancedb", "tantivy", "ladybug", "kuzu", "onnxruntime", "sqlalchemy", "uvicorn", "starlette", "pydantic")
UNKNOWN = "unknown"
"""What a server elsewhere does not say of itself."""
_ROOT = Path(__file__).parents[1]
_GIT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, and what it runs on."""

    commit: str
    """Empty for an installed package."""
    version: str
    model: str
    """A hash of the model files in the package."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Empty where it is not known."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of libraries: the product's, and those that the figures are computed with."""


def facts() -> dict[str, object]:
    """Say what the figures were measured on."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "engrain": version("engrain"),
        **{name: version(name) for name in ENGINES},
    }


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Name the commit of this checkout, with `+` and a hash of what differs from it; empty for an installed package."""
    sha = _git("rev-parse", "--short=12", "HEAD")
    if not sha:
        return ""
    changed = _git("diff", "HEAD", "--", "*.py", "*.toml", "*.onnx")
    return f"{sha}+{hashlib.sha256(changed.encode()).hexdigest()[:8]}" if changed else sha


def _git(*arguments: str) -> str:
    if not (_ROOT / ".git").exists():
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            ["git", "-C", str(_ROOT), *arguments],  # noqa: S607 - whichever git the user has
            capture_output=True, text=True, errors="replace", check=True, timeout=_GIT_TIMEOUT_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def model_digest() -> str:
    """Return a hash of the model files that are in this package."""
    sha = hashlib.sha256()
    for path in sorted((_ROOT / "stores" / "models").iterdir()):
        sha.update(path.name.encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]
