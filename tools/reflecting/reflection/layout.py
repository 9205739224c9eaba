"""Layout: paragraphs, list items and table cells with their headings. Linear."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tools.reflecting.reflection.words import HEADING_OPENINGS, Context, heading_context
from tools.text.sentences import trimmed

BLOCK_LIMIT = 8_000
"""Characters; the rest is data, not prose."""
_WRAPPED = 50
"""Characters; lines of a narrower paragraph stand alone."""
_HEADING_LIMIT = 60

_FENCE = re.compile(r"[ \t]{0,12}(```|~~~)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_UNDERLINE = re.compile(r"[ \t]*([=\-~^#*_])\1{2,}[ \t]*$")
_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?){1,6}")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+•‣◦·▪–—]|->|=>|→)[ \t]+(?=\S)")
_NUMBER = re.compile(r"[ \t]{0,40}(?:\d{1,3}|[a-z])[.)][ \t]+(?=\S)")
_CHECKBOX = re.compile(r"(?:\[[ xX\-~]\]|[☐☑✅✔☒])[ \t]*")
_TIME = re.compile(
    r"[ \t]*[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?"
    r"(?:Z\b|[ \t]?(?:[ap]m|AM|PM|UTC|CES?T|h)\b)?[\])]?[ \t]*(?:[-–—|:][ \t]+|(?=[ \t]|\S))"
)
_MARKS = re.compile(
    rf"(?:{_QUOTE.pattern})?(?P<item>(?P<number>{_NUMBER.pattern})|{_BULLET.pattern})?"
    rf"(?P<box>{_CHECKBOX.pattern})?(?:{_TIME.pattern})?"
)
_SPEAKER = re.compile(
    r"[ \t]*(?:<([^<>\s][^<>\n]{0,30})>|([^\W\d_][\w.'-]{0,20}(?: [\w.'-]{1,20}){0,2}))(?::| -)[ \t]+(?=\S)"
)
_LABELLED = re.compile(r"(?:\*\*|__)?([^\W\d_][^:*|?\n]{1,50}?)(?:\*\*|__)?[ \t]*[:?]?[ \t]*(?:\*\*|__)?[ \t]*$")
_LOG = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S{0,20}\]?[ \t]+\S{0,40}?[ \t]*[\[(]?"
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL|CRIT)"
    r"|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]?[ \t:]+\S"
    r"|Traceback \(most recent|File \"[^\"\n]{1,300}\", line \d|at [\w.$<>/]{1,200}\(|Caused by: "
    r"|(?:[\w]{1,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)(?::|[ \t]*$)|\$ \S|>>> |\.\.\. )"
)
_OPENS = re.compile(
    rf"(?:{_BULLET.pattern}|{_NUMBER.pattern}|{_QUOTE.pattern}|{_HEADING.pattern}|{_FENCE.pattern}|"
    rf"{_TIME.pattern}|[ \t]*\||"
    r"[ \t]*[^\W\d_][\w.'-]{0,20}(?: [\w.'-]{1,20}){0,2}(?::| -)[ \t])"
)
_TABLE = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|[ \t:|+-]{3,}$")


@dataclass(frozen=True, slots=True)
class Block:
    """`notes[start:end]` without list mark, check box, time and speaker.

    `context` is the kind of its heading or column; `leads` marks a colon at the end.
    """

    start: int
    end: int
    context: Context | None = None
    item: bool = False
    ordered: bool = False
    checked: bool | None = None
    leads: bool = False


@dataclass(slots=True)
class _Reader:
    notes: str
    speakers: frozenset[str]
    wrapped: frozenset[int]
    blocks: list[Block] = field(default_factory=list)
    headings: list[tuple[int, Context | None]] = field(default_factory=list)
    columns: list[Context | None] = field(default_factory=list)
    fence: str | None = None
    in_log: bool = False
    is_open: bool = False

    @property
    def context(self) -> Context | None:
        return self.headings[-1][1] if self.headings else None

    def enter(self, level: int, context: Context | None) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, context or self.context))
        self.is_open = False


def blocks(notes: str) -> list[Block]:
    """Return the blocks in text order, without code, logs, stack traces and headings."""
    lines = list(_lines(notes))
    reader = _Reader(notes, _speakers(notes, lines), frozenset(_wrapped(notes, lines)))
    for number, (start, end) in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else (end, end)
        _read(reader, start, end, following)
    return reader.blocks


def _lines(notes: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in notes.split("\n"):
        yield start, start + len(line) - line.endswith("\r")
        start += len(line) + 1


_PLAIN_END = re.compile(r"[.!?:;…]['\"”’»)\]*_`]*\Z")


def _wrapped(notes: str, lines: list[tuple[int, int]]) -> Iterator[int]:
    run: list[tuple[int, int]] = []
    for start, end in [*lines, (len(notes), len(notes))]:
        is_blank = not notes[start : min(end, start + 200)].strip()
        if is_blank or _OPENS.match(notes, start, min(end, start + 120)):
            yield from _in_run(notes, run)
            run = []
        if not is_blank:
            run.append((start, end))


def _in_run(notes: str, run: list[tuple[int, int]]) -> Iterator[int]:
    width = max((end - start for start, end in run), default=0)
    if width < _WRAPPED:
        return
    joints = [
        (end - start + 1 + len((notes[after : min(last, after + 60)].split() or [""])[0]) > min(width, 400), after)
        for (start, end), (after, last) in pairwise(run)
        if not _PLAIN_END.search(notes[max(start, end - 8) : end].rstrip())
    ]
    is_casual = notes[run[0][0] : run[0][1]].lstrip()[:1].islower()
    if len(joints) == 1 and (is_casual or not notes[joints[0][1]].islower()):
        return
    if sum(full for full, _ in joints) >= 0.75 * len(joints):
        yield from (start for full, start in joints if full or notes[start].islower())


def _speakers(notes: str, lines: list[tuple[int, int]]) -> frozenset[str]:
    found: Counter[str] = Counter()
    for start, end in lines:
        bullet = _BULLET.match(notes, start, end)
        time = None if bullet else _TIME.match(notes, start, end)
        name = _SPEAKER.match(notes, time.end() if time else bullet.end() if bullet else start, end)
        if name:
            found[(name[1] or name[2]).lower()] += 2 if time or name[1] else 1
    return frozenset(name for name, count in found.items() if count > 1 and heading_context(name) is None)


def _read(reader: _Reader, start: int, end: int, following: tuple[int, int]) -> None:
    notes = reader.notes
    if not notes[start : min(end, start + 200)].strip():
        reader.is_open = reader.in_log = False
        reader.columns = []
    elif _is_code(reader, start, end):
        reader.is_open = False
    elif _TABLE.match(notes, start, end) and end - start < BLOCK_LIMIT:
        _read_row(reader, start, end, following)
    elif _UNDERLINE.match(notes, start, end):
        reader.is_open = False
    elif (heading := _heading(reader, start, end, following)) is not None:
        reader.enter(*heading)
    else:
        _read_text(reader, start, end)


def _is_code(reader: _Reader, start: int, end: int) -> bool:
    fence = _FENCE.match(reader.notes, start, end)
    if fence:
        closes = reader.fence == fence[1]
        reader.fence = None if closes else reader.fence or fence[1]
        return True
    if reader.fence:
        return True
    indented = reader.notes.startswith(("    ", "\t"), start)
    reader.in_log = bool(_LOG.match(reader.notes, start, end)) or (reader.in_log and indented)
    return reader.in_log


def _heading(reader: _Reader, start: int, end: int, following: tuple[int, int]) -> tuple[int, Context | None] | None:
    notes = reader.notes
    mark = _HEADING.match(notes, start, end)
    if mark:
        return mark[0].count("#"), heading_context(notes[mark.end() : min(end, mark.end() + 200)])
    if end - start > _HEADING_LIMIT:
        return None
    text = notes[start:end].strip()
    if _UNDERLINE.match(notes, *following) and not text.startswith(("-", "|", "*")):
        return (1 if notes[following[0]] in "=#*" else 2), heading_context(text)
    return _bare_heading(reader, text, following)


def _bare_heading(reader: _Reader, text: str, following: tuple[int, int]) -> tuple[int, Context | None] | None:
    notes = reader.notes
    is_alone = not notes[following[0] : following[1]].strip()
    if text.lower().startswith(HEADING_OPENINGS) and (is_alone or _NUMBER.match(notes, *following)):
        return 7, heading_context(text.split(":")[0])
    label = _LABELLED.fullmatch(text)
    if not label or text.startswith(("- ", "* ", "+ ")) or _TIME.match(text):
        return None
    context = heading_context(label[1])
    is_known = context is not None and text[-1] in ":?" and len(label[1].split()) <= 4
    is_listed = _BULLET.match(notes, *following) or _NUMBER.match(notes, *following)
    is_short = len(text.split()) <= 5 and text[-1] not in ".!?,;" and not text.lower().startswith("to ")
    if text.startswith(("**", "__")) or (not reader.is_open and (is_known or (is_listed and is_short))):
        return 7, context
    return None


def _read_row(reader: _Reader, start: int, end: int, following: tuple[int, int]) -> None:
    notes = reader.notes
    reader.is_open = False
    if _TABLE_RULE.match(notes, start, end):
        return
    cells = list(_cells(notes, start, end))
    if _TABLE_RULE.match(notes, *following):
        reader.columns = [heading_context(notes[first:last]) for first, last in cells]
        return
    for number, (first, last) in enumerate(cells):
        column = reader.columns[number] if number < len(reader.columns) else None
        if first < last:
            told = column or (reader.context if number == 0 else None)
            reader.blocks.append(Block(first, last, told, item=True))


def _cells(notes: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    position = notes.index("|", start) + 1
    for cell in notes[position:end].split("|"):
        yield trimmed(notes, position, position + len(cell))
        position += len(cell) + 1


def _read_text(reader: _Reader, start: int, end: int) -> None:
    notes = reader.notes
    marks = next(_MARKS.finditer(notes, start, end))
    at, box = marks.end(), marks["box"]
    speaker = _SPEAKER.match(notes, at, end)
    if speaker and (speaker[1] or speaker[2]).lower() in reader.speakers:
        at = speaker.end()
    first, last = trimmed(notes, at, end)
    continues = start in reader.wrapped or (reader.is_open and notes[start] in " \t")
    leads = first < last and notes[last - 1] == ":"
    if at == start and continues and reader.blocks and last - reader.blocks[-1].start <= BLOCK_LIMIT:
        reader.blocks[-1] = replace(reader.blocks[-1], end=last, leads=leads)
    elif first < last:
        checked = None if box is None else not box.startswith(("[ ]", "☐"))
        is_item, is_ordered = bool(marks["item"] or box), bool(marks["number"])
        reader.blocks.append(Block(first, last, reader.context, is_item, is_ordered, checked, leads))
    reader.is_open = True
