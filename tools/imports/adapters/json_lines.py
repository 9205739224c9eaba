"""JSON Lines: our own plain format, and the file of the MCP memory server."""

import re
from collections.abc import Iterator

from stores.records import RAW_MEMORY, JsonObject
from tools.imports.adapters.base import TYPES, Item, Thread, imported, json_lines, relation
from tools.imports.adapters.values import Object, first_line, listed, moment, text_at
from tools.imports.files import SourceFile
from tools.imports.models import PlaceInSource, RecordToImport, SkippedPart

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
