"""What is still on disk, whatever an engine says that it deleted."""

from pathlib import Path


def on_disk(folder: Path, needle: bytes) -> bool:
    """Whether any file below a folder holds these bytes."""
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
