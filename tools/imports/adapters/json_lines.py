"""JSON Lines: our own plain format, exports of Engrain (also as Parquet), and the file of the MCP memory server."""

import json
import re
from collections.abc import Iterable, Iterator

from stores.parquet import text_rows
from stores.records import RAW_MEMORY, JsonObject
from tools.imports.adapters.base import READ_ERRORS, TYPES, Item, Thread, imported, json_lines, place_in, relation
from tools.imports.adapters.values import Object, first_line, listed, moment, text_at
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
_KEPT = ("thread_id", "speaker", "ordinal", "participants", "labels")


def jsonl(_thread: Thread, line: Object, origin: PlaceInSource) -> Iterator[Item]:
    content = text_at(line, "content") or text_at(line, "text")
    if not content.strip():
        yield SkippedPart(origin=origin, reason="It has no content.")
        return
    given, kind, identity = line.get("metadata"), line.get("type"), line.get("id")
    metadata: JsonObject = dict(given) if isinstance(given, dict) else {}
    metadata |= {name: line[name] for name in _KEPT if name in line}
    for name in ("captured_at", "occurred_at"):
        metadata[name] = moment(line.get(name, metadata.get(name)))
    yield imported(
        str(identity) if isinstance(identity, (str, int)) and identity != "" else f"{origin.path}:{origin.line}",
        text_at(line, "name") or text_at(line, "title") or first_line(content),
        content,
        origin,
        entity_type=kind if isinstance(kind, str) and kind in TYPES else RAW_MEMORY,
        tags=listed(line, "tags"),
        metadata=metadata,
    )


def graph(file: SourceFile) -> Iterator[Item]:
    names: set[str] = set()
    for item in json_lines(file):
        if isinstance(item, SkippedPart):
            yield item
        elif item[1].get("type") == "entity" and (name := text_at(item[1], "name")):
            names.add(name)
            yield _entity(name, item[1], item[0])
        elif item[1].get("type") != "relation":
            yield SkippedPart(origin=item[0], reason="It is neither an entity with a name nor a relation.")
    for item in json_lines(file):
        if not isinstance(item, SkippedPart) and item[1].get("type") == "relation":
            ends = [text_at(item[1], end) for end in ("from", "to")]
            kind = re.sub(r"\W+", "_", text_at(item[1], "relationType")).strip("_").upper()[:100] or "RELATED_TO"
            if names.issuperset(ends):
                yield relation(ends[0], kind, ends[1])
            else:
                yield SkippedPart(origin=item[0], reason="One of its entities is not in the file.")


def _entity(name: str, line: Object, origin: PlaceInSource) -> RecordToImport:
    kind = text_at(line, "entityType")
    content = "\n".join(each for each in listed(line, "observations") if isinstance(each, str))
    known = kind.strip().lower().replace(" ", "_")
    entity_type, tags = (known, []) if known in TYPES else ("topic", [kind])
    return imported(name, name, content or name, origin, entity_type=entity_type, tags=tags)


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
