"""Where a graph lies on disk, and how much memory a file of its size needs."""

import os
from pathlib import Path

from stores.graph.engine import MIB, Engine
from stores.graph.schema import SCHEMA_VERSION

_POOL_PER_FILE = 4


def database_path(folder: Path, engine: Engine) -> Path:
    """The graph file. Its name holds engine and schema: after a change of either, a fresh index follows the feed."""
    return folder / f"{engine}-{SCHEMA_VERSION}.db"


def building_path(folder: Path, engine: Engine) -> Path:
    """Where a rebuild is prepared."""
    return folder / f"{engine}-{SCHEMA_VERSION}.building"


def log_path(path: Path) -> Path:
    """The write-ahead log of a graph file."""
    return path.with_name(f"{path.name}.wal")


def pool_for(path: Path, floor_mb: int) -> int:
    """The buffer pool, in MiB, with which the graph can be checkpointed; memory is taken only as it is used.

    A checkpoint rewrites the edges of up to 131,072 entities at once: 200,000 edges (a file of 55 MiB) failed with
    64 MiB on both engines and with 128 MiB on kuzu.
    """
    size_mb = path.stat().st_size // MIB if path.exists() else 0
    return floor_mb + _POOL_PER_FILE * size_mb


def remove_strangers(folder: Path, keep: Path) -> None:
    """Delete what other engines, older schemas and interrupted rebuilds left: all of it is derived."""
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith(keep.name):
            path.unlink()


def replace_graph(built: Path, target: Path) -> None:
    """Put a finished, closed graph in the place of another. The old log goes first: it belongs to the old file."""
    log_path(target).unlink(missing_ok=True)
    _sync(target.parent)
    built.replace(target)
    _sync(target.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
