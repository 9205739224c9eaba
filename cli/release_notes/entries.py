"""Find and replace entries of a release-notes file, as bytes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

BOMS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_FRONT_MATTER = re.compile(
    rb"---[ \t]*(\r\n|\n|\r)[A-Za-z_][\w-]*[ \t]*:(?:(?!(?:\r\n|\n|\r)---).)*(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)",
    re.S,
)
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_FENCE = re.compile(rb" {0,3}(?:(`{3,})[^`]*$|(~{3,}))")
_COMMENT = re.compile(rb" {0,3}<!--")
_RULE = re.compile(rb" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_HEADING = re.compile(rb" {0,3}(##?)[ \t]+")
_UNDERLINE = re.compile(rb" {0,3}(?:=+|-+)[ \t]*")
_DEFINITION = re.compile(rb" {0,3}\[[^\]]+\]:")
_CONTAINER = re.compile(rb" {0,3}(?:[-*+>|]|\d{1,9}[.)])| {4}|\t")
_HIDDEN = b"\0"
_HIDING = frozenset((b"`", b"~", b"<"))
_MARKS = frozenset(b"#=-*_[")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


SECTIONS = frozenset(
    (
        "Overview", "Highlights", "What's new", "Breaking changes", "Migration guide", "Installation", "Known issues",
        "Contributors", "Full changelog",
    )
)  # fmt: skip
"""Headings of an entry; others, and the text below, belong to somebody else."""


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    others: int


def merged(old: bytes, new: str, version: str) -> tuple[bytes, Span | None]:
    """Replace the entry of the same version in a file, or insert it first, after front matter.

    Returns the new file, and the replaced span of the old one. `new` has line feeds and ends with one.
    """
    ending = line_ending(old)
    entry = new.replace("\n", ending).encode()
    if not old:
        return entry, None
    found = span_of(old, new, version)
    if found is not None:
        rest = old[found.end :]
        return old[: found.start] + _fitted(entry, rest, ending.encode()) + rest, found
    first = _head(old)
    if first == len(old):
        return old + entry, None
    rule = f"{ending}---{ending}{ending}".encode()
    return old[:first] + entry + rule + old[first:], None


def line_ending(data: bytes) -> str:
    both = data.count(b"\r\n")
    feeds, returns = data.count(b"\n") - both, data.count(b"\r") - both
    if both > feeds and both >= returns:
        return "\r\n"
    return "\r" if returns > feeds else "\n"


def span_of(data: bytes, new: str, version: str) -> Span | None:
    """Find the first entry with this title or version; `None` if there is none.

    It ends before anything that no entry contains, a blank line or rule excluded.
    """
    titles = {_spoken(version)}
    first = new.split("\n", 1)[0].encode()
    if heading := _HEADING.match(first):
        titles.add(_title(_unclosed(first[heading.end() :])))
    start = end = None
    others = 0
    for mark in _marks(data):
        is_it = mark.title is not None and _title(mark.title) in titles
        if start is None:
            start = mark.at if is_it else None
            continue
        end = mark.before if end is None else end
        if is_it:
            others = 1
            break
    return None if start is None else Span(start, len(data) if end is None else end, others)


class _Mark(NamedTuple):
    at: int
    before: int
    title: bytes | None


def _marks(data: bytes) -> Iterator[_Mark]:
    last = _head(data)
    paragraph: tuple[int, int, bytes | None] | None = None
    for at, end, text in _lines(data):
        if not text or text.isspace():
            paragraph = None
            continue
        before, last = last, end
        mark = None
        if (text.lstrip(b" ") or text)[0] in _MARKS:
            if paragraph and _UNDERLINE.fullmatch(text):
                mark = _underlined(*paragraph, is_title=b"=" in text)
                paragraph = None
            elif heading := _HEADING.match(text):
                mark = _headed(at, before, _unclosed(text[heading.end() :]), is_title=heading[1] == b"#")
            elif _RULE.fullmatch(text) or (paragraph is None and _DEFINITION.match(text)):
                mark = _Mark(at, before, None)
        if mark is not None:
            paragraph = None
            yield mark
        elif paragraph is not None:
            paragraph = (paragraph[0], paragraph[1], None)
        elif not _CONTAINER.match(text) and not text.startswith((b"#", _HIDDEN)):
            paragraph = (at, before, text)


def _underlined(at: int, before: int, text: bytes | None, *, is_title: bool) -> _Mark | None:
    return _headed(at, before, (text or b"").strip(), is_title=is_title)


def _headed(at: int, before: int, text: bytes, *, is_title: bool) -> _Mark | None:
    if not is_title and text.decode("utf-8", errors="replace") in SECTIONS:
        return None
    return _Mark(at, before, text if is_title else None)


def _fitted(entry: bytes, rest: bytes, ending: bytes) -> bytes:
    return entry if not rest or rest.startswith((b"\n", b"\r")) or not rest.strip() else entry + ending


def _head(data: bytes) -> int:
    first = len(_BOM) if data.startswith(_BOM) else 0
    front = _FRONT_MATTER.match(data, first)
    return front.end() if front else first


def _lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    fence = b""
    in_comment = False
    for found in _LINE.finditer(data, _head(data)):
        (at, end), text = found.span(), found[1]
        if at == end:
            return
        if in_comment:
            in_comment = b"-->" not in text
            text = _HIDDEN
        elif fence:
            mark = _FENCE.match(text)
            if mark and (mark[1] or mark[2]).startswith(fence) and not text.strip().strip(fence[:1]):
                fence = b""
            text = _HIDDEN
        elif text.lstrip(b" ")[:1] in _HIDING:
            if mark := _FENCE.match(text):
                fence = mark[1] or mark[2]
                text = _HIDDEN
            elif _COMMENT.match(text):
                in_comment = b"-->" not in text
                text = _HIDDEN
        yield at, end, text


def _unclosed(heading: bytes) -> bytes:
    text = heading.rstrip(b" \t")
    bare = text.rstrip(b"#")
    return bare.rstrip(b" \t") if not bare or bare.endswith((b" ", b"\t")) else text


def _title(text: bytes) -> str:
    return _spoken(_ESCAPED.sub(r"\1", text.decode("utf-8", errors="replace")))


def _spoken(title: str) -> str:
    return re.sub(r"(?:^|(?<=\s))[vV](?=\d\S*$)", "", " ".join(title.replace("`", "").split()))
