"""Paths of a graph's files, and the buffer pool for a file of its size."""

from pathlib import Path

from stores.graph.engine import MIB, Engine
from stores.graph.schema import SCHEMA_VERSION

_POOL_PER_FILE = 4


def database_path(folder: Path, engine: Engine) -> Path:
    """Names engine and schema: a change of either starts a fresh index."""
    return folder / f"{engine}-{SCHEMA_VERSION}.db"


def discard(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def pool_for(path: Path, floor_mb: int) -> int:
    """Return the buffer pool, in MiB, that a checkpoint of this file needs.

    200,000 edges (55 MiB) failed with 64 MiB on both engines and with 128 MiB on kuzu.
    """
    size_mb = path.stat().st_size // MIB if path.exists() else 0
    return floor_mb + _POOL_PER_FILE * size_mb


def remove_strangers(folder: Path, keep: Path) -> None:
    """Delete files of other engines and older schemas."""
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith(keep.name):
            path.unlink()
