"""Builds sources of imports in a folder, and reads them."""

import json
from collections.abc import Mapping
from pathlib import Path

from tools.imports.adapters import ADAPTERS
from tools.imports.adapters.base import Item
from tools.imports.files import SourceFiles, open_source
from tools.imports.models import RecordToImport, RelationToImport, SkippedPart


def made(folder: Path, files: Mapping[str, object]) -> SourceFiles:
    """Write files: bytes and texts as they are, the rest as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, (str, bytes)) else json.dumps(content, indent=1)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return open_source(folder)


def json_lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def items(adapter: str, source: SourceFiles) -> list[Item]:
    reader = ADAPTERS[adapter]
    return [item for file in reader.files(source) for item in reader.read(file)]


def records(adapter: str, source: SourceFiles) -> list[RecordToImport]:
    return [item for item in items(adapter, source) if isinstance(item, RecordToImport)]


def relations(adapter: str, source: SourceFiles) -> list[tuple[str, str, str]]:
    found = (item for item in items(adapter, source) if isinstance(item, RelationToImport))
    return [(item.source, item.relationship, item.target) for item in found]


def skipped(adapter: str, source: SourceFiles) -> list[str]:
    return [item.reason for item in items(adapter, source) if isinstance(item, SkippedPart)]
