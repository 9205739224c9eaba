"""Chunking along headings and paragraphs. Every character of the body is in some chunk."""

import re
from collections.abc import Iterator
from typing import NamedTuple

CHUNK_LIMIT = 1600

_HEADING = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\s*")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_SENTENCE_END = re.compile("(?<=[.!?\u3002\uff01\uff1f])\\s+|\\n+")


class Piece(NamedTuple):
    """A chunk with its heading path."""

    content: str
    chunk_type: str
    heading_path: tuple[str, ...]


def title_of(text: str) -> str | None:
    return next((title for _, title, _ in _headings(text.splitlines())), None)


def chunks(text: str, *, limit: int = CHUNK_LIMIT) -> list[Piece]:
    """Split a document at headings, then paragraphs, then sentences, then anywhere."""
    sections: list[tuple[tuple[str, ...], str]] = []
    is_bare = False
    for path, lines in _sections(text):
        # A heading without text opens the next chunk.
        above = [sections.pop()[1], ""] if is_bare else []
        body = "\n".join([*above, *lines]).strip()
        kept = [line for line in lines if line.strip()]
        is_heading = len(kept) == 1 or (len(kept) == 2 and _is_underlined(kept, 0))
        is_bare = bool(body and path) and is_heading
        sections.append((path, body))
    return [
        Piece(part, "heading" if path and number == 0 else "paragraph", path)
        for path, body in sections
        for number, part in enumerate(_parts(body, limit))
    ]


def _headings(lines: list[str]) -> Iterator[tuple[int, str, int]]:
    fence: str | None = None
    underline_levels: list[str] = []
    for number, line in enumerate(lines):
        opened = _FENCE.match(line)
        if opened:
            fence = None if fence and opened[1].startswith(fence) else fence or opened[1]
            continue
        if fence:
            continue
        heading = _HEADING.fullmatch(line)
        if heading:
            yield number, heading[2], len(heading[1])
        elif _is_underlined(lines, number):
            mark = lines[number + 1][0]
            if mark not in underline_levels:
                underline_levels.append(mark)
            yield number, line.strip(), underline_levels.index(mark) + 1


def _is_underlined(lines: list[str], number: int) -> bool:
    if number + 1 >= len(lines) or not lines[number].strip() or lines[number][0].isspace():
        return False
    below = lines[number + 1]
    return bool(_UNDERLINE.fullmatch(below)) and len(below.strip()) >= len(lines[number].strip())


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    lines = text.splitlines()
    path: list[tuple[int, str]] = []
    start = 0
    for number, title, level in _headings(lines):
        yield tuple(name for _, name in path), lines[start:number]
        path = [*[entry for entry in path if entry[0] < level], (level, title)]
        start = number
    yield tuple(name for _, name in path), lines[start:]


def _parts(body: str, limit: int) -> Iterator[str]:
    part = ""
    for paragraph in re.split(r"\n\s*\n", body):
        for piece in _short(paragraph, limit):
            if part and len(part) + 2 + len(piece) > limit:
                yield part
                part = piece
            else:
                part = f"{part}\n\n{piece}" if part else piece
    if part:
        yield part


def _short(paragraph: str, limit: int) -> Iterator[str]:
    while len(paragraph) > limit:
        ends = [match.end() for match in _SENTENCE_END.finditer(paragraph, limit // 2, limit)]
        space = paragraph.rfind(" ", limit // 2, limit)
        cut = ends[-1] if ends else space + 1 if space > 0 else limit
        yield paragraph[:cut].rstrip()
        paragraph = paragraph[cut:].lstrip()
    if paragraph.strip():
        yield paragraph
