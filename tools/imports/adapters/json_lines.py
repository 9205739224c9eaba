"""JSON Lines: our own plain format, and the file of the MCP memory server."""

import re
from collections.abc import Iterator

from stores.records import RAW_MEMORY, JsonObject
from tools.imports.adapters.base import TYPES, Thread, json_lines
from tools.imports.adapters.values import Object, first_line, listed, moment, text_at
from tools.imports.files import SourceFile
from tools.imports.records import ImportedRecord, ImportedRelation, Item, Origin, SkippedRecord

_KEPT = ("thread_id", "speaker", "ordinal", "participants", "labels")


def jsonl(_thread: Thread, line: Object, origin: Origin) -> Iterator[Item]:
    content = text_at(line, "content") or text_at(line, "text")
    if not content.strip():
        yield SkippedRecord(origin, "It has no content.")
        return
    given, kind, identity = line.get("metadata"), line.get("type"), line.get("id")
    metadata: JsonObject = dict(given) if isinstance(given, dict) else {}
    metadata |= {name: line[name] for name in _KEPT if name in line}
    for name in ("captured_at", "occurred_at"):
        metadata[name] = moment(line.get(name, metadata.get(name)))
    yield ImportedRecord(
        str(identity) if isinstance(identity, (str, int)) and identity != "" else f"{origin.path}:{origin.line}",
        text_at(line, "name") or text_at(line, "title") or first_line(content),
        content,
        origin,
        entity_type=kind if isinstance(kind, str) and kind in TYPES else RAW_MEMORY,
        tags=tuple(listed(line, "tags")),
        metadata=metadata,
    )


def graph(file: SourceFile) -> Iterator[Item]:
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
                yield ImportedRelation(ends[0], kind, ends[1], item[0])
            else:
                yield SkippedRecord(item[0], "One of its entities is not in the file.")


def _entity(name: str, line: Object, origin: Origin) -> ImportedRecord:
    kind = text_at(line, "entityType")
    content = "\n".join(each for each in listed(line, "observations") if isinstance(each, str))
    known = kind.strip().lower().replace(" ", "_")
    tags = (kind,) if known not in TYPES else ()
    return ImportedRecord(name, name, content or name, origin, known if known in TYPES else "topic", tags)
