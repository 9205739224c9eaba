"""Markdown notes, such as an Obsidian vault, and the instruction files of coding agents."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from stores.records import JsonObject
from tools.entities.chunking import chunks
from tools.imports.adapters.base import TYPES, Format, first_line, labels, moment
from tools.imports.files import LINE_BYTES, SourceFile, SourceFiles, decoded
from tools.imports.records import ImportedRecord, ImportedRelation, Item, Origin, SkippedRecord
from tools.records.entity_models import CONTENT_LIMIT

LINKS = "(links)"
"""Name of the file that stands for the links between all notes, which are read after them."""
INSTRUCTIONS_BYTES = 200_000
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"(?<![\w/#&;(])#((?=[\w/-]*[^\W\d])[\w/-]{1,200})")
_WIKI = re.compile(r"\[\[([^\[\]|#^\n]{1,500})(?:[|#^][^\[\]\n]{0,500})?\]\]")
_LINK = re.compile(r"\]\(<?([^()<>\s:#]{1,500}\.(?:md|markdown|mdc))(?:#[^()<>\s]{0,500})?>?\)", re.IGNORECASE)
_USED = ("title", "tags", "tag", "date", "created", "aliases", "type")
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?\.md|AGENTS(?:\.override)?\.md|GEMINI\.md|\.cursorrules|\.windsurfrules"
    r"|\.cursor/rules/(?:.+/)?[^/]+\.mdc|\.github/copilot-instructions\.md)$"
)
# A rule says what to do, or an item of its list begins with what to do.
_RULE = re.compile(
    r"\b(?:must|never|always|do not|don't|should|shall|avoid|prefer|ensure|make sure|required|forbidden)\b"
    r"|^[ \t]*(?:[-*+]|\d+[.)])[ \t]+[*_`]{0,3}(?:use|run|write|keep|add|make|follow|put|name|test|commit|check|read"
    r"|do|update|include|return|raise|handle|start|ask|remove|document)\b",
    re.IGNORECASE | re.MULTILINE,
)


def _is_note(file: SourceFile) -> bool:
    return file.name.lower().endswith((".md", ".markdown")) and file.size > 0


def _notes(source: SourceFiles) -> Iterator[SourceFile]:
    notes: list[SourceFile] = []
    for file in source:
        if _is_note(file):
            notes.append(file)
            yield file
    if notes:
        yield SourceFile(LINKS, 0, members=tuple(notes))


def _note(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    if file.members:
        yield from _links(file.members)
        return
    text = _text(file)
    if isinstance(text, SkippedRecord):
        yield text
        return
    front, body = _front(text)
    kind = str(front.get("type", "")).strip().lower()
    tags = [tag for name in ("tags", "tag") for tag in _several(front.get(name))]
    tags = [*(tag.lstrip("#") for tag in tags), *_TAG.findall(_CODE.sub(" ", body))]
    heading = re.match(r"\s*#[ \t]+(.+)", body)
    title = str(front.get("title", "")) or (heading[1].strip("# \t\r") if heading else file.base.rpartition(".")[0])
    metadata: JsonObject = {
        "captured_at": moment(front.get("created") or front.get("date")),
        "aliases": [*_several(front.get("aliases"))],
        "front_matter": {name: value for name, value in front.items() if name not in _USED},
    }
    known = kind if kind in TYPES else "note"
    content = body if body.strip() else title
    yield ImportedRecord(file.name, title, content, Origin(file.name), known, labels(tags), metadata)


def _links(notes: tuple[SourceFile, ...]) -> Iterator[Item]:
    paths = {file.name: file.name for file in notes}
    names: dict[str, str] = {}
    for file in reversed(notes):  # Of several with one name the first counts.
        stem = file.name.rpartition(".")[0].lower()
        names |= {stem: file.name, stem.rpartition("/")[2]: file.name}
    for file in notes:
        text = _text(file)
        body = "" if isinstance(text, SkippedRecord) else _CODE.sub(" ", text)
        wiki = (names.get(name.strip().lower().removesuffix(".md")) for name in _WIKI.findall(body))
        relative = (_beside(file, unquote(path), paths) for path in _LINK.findall(body))
        for target in dict.fromkeys((*wiki, *relative)):
            if target is not None and target != file.name:
                yield ImportedRelation(file.name, "RELATED_TO", target, Origin(file.name))


def _beside(file: SourceFile, path: str, paths: Mapping[str, str]) -> str | None:
    return paths.get(posixpath.normpath(posixpath.join(file.folder, path))) or paths.get(path.lstrip("/"))


def _text(file: SourceFile, most: int = LINE_BYTES) -> str | SkippedRecord:
    with file.open() as stream:
        data = stream.read(most + 1)
    text = decoded(data)
    if len(data) > most or not text.strip() or "\0" in text[:8_000]:
        return SkippedRecord(Origin(file.name), f"It is empty, no text, or larger than {most:,} bytes.")
    return text


def _front(text: str) -> tuple[JsonObject, str]:
    """Return the flat fields of the front matter, and what follows it."""
    match = _FRONT.match(text)
    fields: JsonObject = {}
    name = ""
    for line in (match[1] or "").splitlines() if match else ():
        if item := re.match(r"[ \t]*-[ \t]+(.*)", line):
            if name:
                fields[name] = [*_several(fields.get(name)), _bare(item[1])]
        elif ":" in line[:100] and not line[0].isspace():
            name, value = (part.strip() for part in line.split(":", 1))
            name = name.lower()
            is_list = value.startswith("[") and value.endswith("]")
            fields[name] = [*_several(value[1:-1])] if is_list else _bare(value)
    return (fields, text[match.end() :]) if match and (fields or not match[1]) else ({}, text)


def _several(value: object) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [bare for part in parts if (bare := _bare(str(part)))]


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def _instruction_files(source: SourceFiles) -> Iterator[SourceFile]:
    return (file for file in source if file.size > 0 and _INSTRUCTIONS.search(file.name))


def _instructions(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    text = _text(file, INSTRUCTIONS_BYTES)
    if isinstance(text, SkippedRecord):
        yield text
        return
    front, body = _front(text)
    keys: dict[str, int] = {}
    for piece in chunks(body, limit=CONTENT_LIMIT):
        title = " / ".join(piece.heading_path[1:] or piece.heading_path) or first_line(piece.content)
        key = f"{file.name}#{'/'.join(piece.heading_path)}"
        keys[key] = keys.get(key, 0) + 1
        is_rule = front.get("alwaysapply") == "true" or _RULE.search(_CODE.sub(" ", piece.content))
        yield ImportedRecord(
            key if keys[key] == 1 else f"{key}~{keys[key]}",
            title,
            piece.content,
            Origin(file.name),
            entity_type="rule" if is_rule else "guide",
            tags=(file.base,),
            metadata={"front_matter": {**front}},
        )


FORMATS = (
    Format(
        "instructions", "Instructions for coding agents, such as CLAUDE.md", _instruction_files, _instructions, False
    ),
    Format("markdown", "Markdown notes, such as an Obsidian vault", _notes, _note, False),
)
