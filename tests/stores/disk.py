"""What is still on disk, whatever an engine says that it deleted."""

from pathlib import Path


def on_disk(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
