"""Markdown notes, such as an Obsidian vault, and the instruction files of coding agents."""

import json
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

from stores.records import JsonObject
from tools.entities.chunking import chunks
from tools.imports.adapters.base import READ_ERRORS, TYPES, Item, imported, place_in, relation
from tools.imports.adapters.values import first_line, moment
from tools.imports.files import LINE_BYTES, SourceFile, SourceFiles, decoded
from tools.records.entity_models import CONTENT_LIMIT

LINKS = "(links)"
"""Name of the file that stands for the links between all notes, which are read after them."""
INSTRUCTIONS_BYTES = 200_000
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"(?<![\w/#&;(])#((?=[\w/-]*[^\W\d])[\w/-]{1,200})")
_WIKI = re.compile(r"\[\[([^\[\]|#^\n]{1,500})(?:[|#^][^\[\]\n]{0,500})?\]\]")
_LINK = re.compile(r"\]\(<?([^()<>\s:#]{1,500}\.(?:md|markdown|mdc))(?:#[^()<>\s]{0,500})?>?\)", re.IGNORECASE)
_FIELD = re.compile(r"^(?:([^\s:#-][^:\n]{0,99}):(.*)|[ \t]*-[ \t]+(.*))$", re.MULTILINE)
_USED = ("title", "tags", "tag", "date", "created", "type")
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


def notes(source: SourceFiles) -> Iterator[SourceFile]:
    found: list[SourceFile] = []
    for file in source:
        if file.name.lower().endswith((".md", ".markdown")) and file.size > 0:
            found.append(file)
            yield file
    if found:
        yield SourceFile(LINKS, 0, members=tuple(found))


def note(file: SourceFile) -> Iterator[Item]:
    if file.members:
        yield from _links(file.members)
        return
    front, body = _front(_text(file))
    kind = str(front.get("type", "")).strip().lower()
    tags = [tag.lstrip("#") for name in ("tags", "tag") for tag in _several(front.get(name))]
    heading = re.match(r"\s*#[ \t]+(.+)", body)
    title = str(front.get("title", "")) or (heading[1].strip("# \t\r") if heading else file.stem)
    metadata: JsonObject = {
        "captured_at": moment(front.get("created") or front.get("date")),
        "front_matter": {name: value for name, value in front.items() if name not in _USED},
    }
    kind, body = kind if kind in TYPES else "note", body if body.strip() else title
    every = (*tags, *_TAG.findall(_CODE.sub(" ", body)))
    yield imported(file.name, title, body, place_in(file), entity_type=kind, tags=every, metadata=metadata)


def _links(files: tuple[SourceFile, ...]) -> Iterator[Item]:
    paths = {file.name for file in files}
    names: dict[str, str] = {}
    for file in reversed(files):  # Of several with one name the first counts.
        stem = file.name.rpartition(".")[0].lower()
        names |= {stem: file.name, stem.rpartition("/")[2]: file.name}
    for file in files:
        try:
            body = _CODE.sub(" ", _text(file))
        except READ_ERRORS:  # Told when it was read as a note.
            continue
        targets = [names.get(name.strip().lower().removesuffix(".md")) for name in _WIKI.findall(body)]
        for path in map(unquote, _LINK.findall(body)):
            beside = posixpath.normpath(posixpath.join(file.folder, path))
            targets.append(next((each for each in (beside, path.lstrip("/")) if each in paths), None))
        for target in dict.fromkeys(targets):
            if target is not None and target != file.name:
                yield relation(file.name, "RELATED_TO", target)


def _text(file: SourceFile, most: int = LINE_BYTES) -> str:
    with file.open() as stream:
        data = stream.read(most + 1)
    text = decoded(data)
    if len(data) > most or not text.strip() or "\0" in text[:8_000]:
        raise ValueError(f"It is empty, no text, or larger than {most:,} bytes.")
    return text


def _front(text: str) -> tuple[JsonObject, str]:
    match = _FRONT.match(text)
    fields: JsonObject = {}
    name = ""
    for key, value, item in _FIELD.findall(match[1] or "") if match else ():
        if key:
            name, value = key.strip().lower(), value.strip()
            is_list = value.startswith("[") and value.endswith("]")
            fields[name] = [*_several(value[1:-1])] if is_list else _bare(value)
        elif name:
            fields[name] = [*_several(fields[name]), _bare(item)]
    return (fields, text[match.end() :]) if match and (fields or not match[1]) else ({}, text)


def _several(value: object) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [bare for part in parts if (bare := _bare(str(part)))]


def _bare(value: str) -> str:
    value = value.strip()
    if value.startswith('"'):
        with suppress(ValueError):
            return str(json.loads(value))
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def instruction_files(source: SourceFiles) -> Iterator[SourceFile]:
    return (file for file in source if file.size > 0 and _INSTRUCTIONS.search(file.name))


def instructions(file: SourceFile) -> Iterator[Item]:
    front, body = _front(_text(file, INSTRUCTIONS_BYTES))
    keys: dict[str, int] = {}
    for piece in chunks(body, limit=CONTENT_LIMIT):
        title = " / ".join(piece.heading_path[1:] or piece.heading_path) or first_line(piece.content)
        key = f"{file.name}#{'/'.join(piece.heading_path)}"
        keys[key] = keys.get(key, 0) + 1
        key = key if keys[key] == 1 else f"{key}~{keys[key]}"
        is_rule = front.get("alwaysapply") == "true" or _RULE.search(_CODE.sub(" ", piece.content))
        more = {"entity_type": "rule" if is_rule else "guide", "tags": [file.base], "metadata": {"front_matter": front}}
        yield imported(key, title, piece.content, place_in(file), **more)
