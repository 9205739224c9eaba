"""Where the entries of a release-notes file begin and end. Bytes throughout: what is not ours keeps each of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

BOMS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_FRONT_MATTER = re.compile(
    rb"---[ \t]*(\r\n|\n|\r)[A-Za-z_][\w-]*[ \t]*:(?:(?!(?:\r\n|\n|\r)---).)*(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)",
    re.S,
)
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(rb"---[ \t]*")
_TITLE = re.compile(rb" {0,3}#[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(rb" {0,3}=+[ \t]*")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, with where it begins and ends, its line ending included."""

    start: int
    end: int
    text: bytes
    in_code: bool


def merged(old: bytes, new: str, version: str) -> bytes:
    """Put an entry, which begins with its title, into a file: instead of that of the same version, else first.

    What precedes any entry stays first: a byte order mark, and front matter. `new` has line feeds and ends with one.
    """
    ending = line_ending(old)
    entry = new.replace("\n", ending).encode()
    if not old:
        return entry
    found = span_of(old, new, version)
    if found is not None:
        start, end = found
        return old[:start] + _fitted(entry, old[end:], ending.encode()) + old[end:]
    first = _head(old)
    if first == len(old):
        return old + entry
    rule = f"{ending}---{ending}{ending}".encode()
    return old[:first] + entry + rule + old[first:]


def line_ending(data: bytes) -> str:
    r"""What ends most lines: `\r\n`, `\r`, or `\n`, which it is in doubt."""
    both = data.count(b"\r\n")
    feeds, returns = data.count(b"\n") - both, data.count(b"\r") - both
    if both > feeds and both >= returns:
        return "\r\n"
    return "\r" if returns > feeds else "\n"


def span_of(data: bytes, new: str, version: str) -> tuple[int, int] | None:
    """Where the entry with the title of a new one, or with its version alone, begins and ends; None: nowhere.

    The blank line and the rule after it are no part of it.
    """
    lines = list(_lines(data))
    titles = {_titled(new.split("\n", 1)[0].encode()), _spoken(version)}
    start = next((n for n, line in enumerate(lines) if not line.in_code and _titled(line.text) in titles), None)
    if start is None:
        return None
    for n in range(start + 1, len(lines)):
        line = lines[n]
        if line.in_code:
            continue
        is_rule = _RULE.fullmatch(line.text) is not None and not lines[n - 1].text.strip()
        is_underlined = n + 1 < len(lines) and _UNDERLINE.fullmatch(lines[n + 1].text) and line.text.strip()
        if is_rule or is_underlined or _TITLE.fullmatch(line.text):
            end = n
            while end > start + 1 and not lines[end - 1].text.strip():
                end -= 1
            return lines[start].start, lines[end - 1].end
    return lines[start].start, len(data)


def _fitted(entry: bytes, rest: bytes, ending: bytes) -> bytes:
    """The entry as it fits before the rest: apart from a title that follows at once."""
    return entry if not rest or rest.startswith((b"\n", b"\r")) or not rest.strip() else entry + ending


def _head(data: bytes) -> int:
    first = len(_BOM) if data.startswith(_BOM) else 0
    front = _FRONT_MATTER.match(data, first)
    return front.end() if front else first


def _lines(data: bytes) -> Iterator[Line]:
    fence = b""
    at = _head(data)
    while at < len(data):
        found = _LINE.match(data, at)
        end = found.end() if found else len(data)
        text = data[at:end].rstrip(b"\r\n")
        mark = _FENCE.match(text)
        was_in_code = bool(fence)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not text.strip().strip(fence[:1]):
            fence = b""
        yield Line(at, end, text, was_in_code or bool(mark))
        at = end


def _titled(line: bytes) -> str | None:
    found = _TITLE.fullmatch(line)
    return _spoken(_ESCAPED.sub(r"\1", found[1].decode("utf-8", errors="replace"))) if found else None


def _spoken(title: str) -> str:
    """A title without what does not tell versions apart: backticks, blanks, and the `v` before the number."""
    return re.sub(r"(?:^|(?<=\s))[vV](?=\d\S*$)", "", " ".join(title.replace("`", "").split()))
