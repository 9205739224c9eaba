"""JSON Lines: our own plain format, and the file of the MCP memory server."""

import re
from collections.abc import Iterator, Mapping

from stores.records import RAW_MEMORY, JsonObject
from tools.imports.adapters.base import (
    TYPES,
    Format,
    Object,
    Sniffed,
    first_line,
    json_head,
    json_lines,
    listed,
    moment,
    text_at,
)
from tools.imports.files import SourceFile
from tools.imports.records import ImportedRecord, ImportedRelation, Item, Origin, SkippedRecord

_KEPT = ("thread_id", "speaker", "ordinal", "participants", "labels")


def _is_jsonl(file: SourceFile) -> bool:
    return any(text_at(line, "content") or text_at(line, "text") for line in json_head(file))


def _jsonl(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    for item in json_lines(file):
        if isinstance(item, SkippedRecord):
            yield item
            continue
        origin, line = item
        content = text_at(line, "content") or text_at(line, "text")
        if not content.strip():
            yield SkippedRecord(origin, "It has no content.")
            continue
        given, kind = line.get("metadata"), line.get("type")
        metadata: JsonObject = {
            **(given if isinstance(given, dict) else {}),
            **{name: line[name] for name in _KEPT if name in line},
        }
        for name in ("captured_at", "occurred_at"):
            metadata[name] = moment(line.get(name, metadata.get(name)))
        identity = line.get("id")
        yield ImportedRecord(
            str(identity) if isinstance(identity, (str, int)) and identity != "" else f"{file.name}:{origin.line}",
            text_at(line, "name") or text_at(line, "title") or first_line(content),
            content,
            origin,
            entity_type=kind if isinstance(kind, str) and kind in TYPES else RAW_MEMORY,
            tags=tuple(listed(line, "tags")),
            metadata=metadata,
        )


def _is_graph(file: SourceFile) -> bool:
    kinds = {"entity": {"name", "observations"}, "relation": {"from", "to", "relationType"}}
    return any(kinds.get(str(line.get("type")), {""}) <= line.keys() for line in json_head(file))


def _graph(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    names: set[str] = set()
    for item in json_lines(file):
        if isinstance(item, SkippedRecord):
            yield item
        elif item[1].get("type") == "entity" and (name := text_at(item[1], "name")):
            names.add(name)
            yield _entity(name, item[1], item[0])
        elif item[1].get("type") != "relation":
            yield SkippedRecord(item[0], "It is neither an entity with a name nor a relation.")
    for item in json_lines(file):
        if not isinstance(item, SkippedRecord) and item[1].get("type") == "relation":
            ends = [text_at(item[1], end) for end in ("from", "to")]
            kind = re.sub(r"\W+", "_", text_at(item[1], "relationType")).strip("_").upper()[:100] or "RELATED_TO"
            if names.issuperset(ends):
                yield ImportedRelation(_key(ends[0]), kind, _key(ends[1]), item[0])
            else:
                yield SkippedRecord(item[0], "One of its entities is not in the file.")


def _entity(name: str, line: Object, origin: Origin) -> ImportedRecord:
    kind = text_at(line, "entityType")
    content = "\n".join(each for each in listed(line, "observations") if isinstance(each, str))
    known = kind.strip().lower().replace(" ", "_")
    tags = (kind,) if known not in TYPES else ()
    return ImportedRecord(_key(name), name, content or name, origin, known if known in TYPES else "topic", tags)


def _key(name: str) -> str:
    return f"entity:{name}"


FORMATS = (
    Format(
        "mcp-memory",
        "File of the MCP memory server (memory.json)",
        Sniffed(_is_graph, (".json", ".jsonl")),
        _graph,
        is_global=False,
    ),
    Format(
        "jsonl",
        "JSON Lines, one object with `content` a line",
        Sniffed(_is_jsonl, (".jsonl", ".ndjson")),
        _jsonl,
        is_global=False,
    ),
)
