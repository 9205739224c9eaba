"""Exports of Engrain itself, as JSON Lines or Parquet."""

import json
from collections.abc import Iterable, Iterator

from stores.parquet import text_rows
from tools.imports.adapters.base import READ_ERRORS, Item, json_lines, place_in
from tools.imports.adapters.values import Object
from tools.imports.files import SourceFile
from tools.imports.models import PlaceInSource, RecordToImport, RelationToImport, SkippedPart

FORMAT, VERSION = "engrain-export", 1
HEAD = rb'\A(?:PAR1|\{"format": ?"engrain-export")'
TEXTS = (
    "kind", "id", "type", "name", "description", "content", "category", "memory_scope", "scope_key", "project_id",
    "source_file", "author", "author_id", "created_at", "updated_at",
    "source_id", "target_id", "fact", "valid_at", "invalid_at", "expired_at",
)  # fmt: skip
NESTED = ("languages", "tags", "metadata", "for_members", "references", "capture", "chunk", "provenance")
"""Columns of a Parquet file that hold JSON."""
_SAME = ("description", "category", "languages", "source_file", "memory_scope", "for_members", "references", "chunk")
_ORIGINAL = ("id", "author", "author_id", "created_at", "updated_at", "expired_at", "memory_scope", "scope_key")


def export(file: SourceFile) -> Iterator[Item]:
    with file.open() as stream:
        is_parquet = stream.read(4) == b"PAR1"
    for item in _rows(file) if is_parquet else json_lines(file):
        if isinstance(item, SkippedPart):
            yield item
            continue
        origin, line = item
        if line.get("format") != FORMAT:
            try:
                yield _item(line, origin)
            except READ_ERRORS as error:
                reason = f"The line is none of an export ({type(error).__name__})."
                yield SkippedPart(origin=origin, reason=reason)
        elif line.get("version") != VERSION:
            raise ValueError("A newer Engrain wrote this export.")


def _rows(file: SourceFile) -> Iterable[tuple[PlaceInSource, Object]]:
    with file.open() as stream:
        for number, row in enumerate(text_rows(stream), start=1):
            nested = {name: json.loads(row[name]) for name in NESTED if row.get(name) is not None}
            yield place_in(file, number), dict.fromkeys(NESTED) | row | nested


def _item(line: Object, origin: PlaceInSource) -> Item:
    original = {name: line[name] for name in _ORIGINAL if line.get(name) is not None}
    if line["kind"] == "relation":
        told = {"source": line["source_id"], "relationship": line["name"], "target": line["target_id"]}
        told |= {name: line[name] for name in ("fact", "valid_at", "invalid_at")}
        told["provenance"] = line["provenance"] | {"imported": original}
        return RelationToImport.model_validate(told)
    place = line["project_id"] or (line["scope_key"] if line["memory_scope"] == "project" else None)
    more = {name: line[name] for name in _SAME} | {"original": original, "capture": line["capture"]}
    more["project_id"] = place if place in line["references"] else None
    kept = {name: line[name] for name in ("name", "content", "tags", "metadata")}
    kept |= {"key": line["id"], "entity_type": line["type"], "origin": origin, "exported": more}
    return RecordToImport.model_validate(kept)
