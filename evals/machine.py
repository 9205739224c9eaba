"""Facts about the machine, without which a time says nothing."""

import os
import platform
from importlib.metadata import version

ENGINES = ("lancedb", "tantivy", "ladybug", "kuzu", "onnxruntime", "sqlalchemy", "uvicorn", "starlette", "pydantic")


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
