"""Cuts notes into blocks: paragraphs, list items, table cells, each with what stands around it. Pure and linear."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tools.reflection.words import REJECTED, TITLES, Announced, Context, announced, heading_context, is_heading

BLOCK_LIMIT = 8_000
"""Characters of a paragraph that are read; what is longer is data, not prose."""
_WRAPPED = 50
"""A paragraph whose longest line is shorter is no wrapped prose: each line stands alone."""
_HEADING_LIMIT = 60

_FENCE = re.compile(r"[ \t]{0,12}(```|~~~)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_ORG_HEADING = re.compile(r"\*{2,6}[ \t]+(?=\S)")
_ORG_STATE = re.compile(r"(TODO|DONE)[ \t]+")
_UNDERLINE = re.compile(r"[ \t]*([=\-~^\"'+#*_])\1{2,}[ \t]*$")
_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?){1,6}")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+•‣◦·▪–—]|->|=>|→)[ \t]+(?=\S)")
_NUMBER = re.compile(r"[ \t]{0,40}(?:\d{1,3}|[a-z])[.)][ \t]+(?=\S)")
_CHECKBOX = re.compile(r"(?:\[([ xX\-~])\]|([☐☑✅✔☒]))[ \t]*")
_TIME = re.compile(
    r"[ \t]*[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?(?:Z\b|[ \t]?(?:[ap]m|AM|PM|UTC|"
    r"CES?T|h)\b)?"
    r"[\])]?[ \t]*(?:[-–—|:][ \t]+|(?=[ \t]|\S))"
)
_SPEAKER = re.compile(
    r"[ \t]*(?:<([^<>\s][^<>\n]{0,30})>|([^\W\d_][\w.'-]{0,20}(?: [\w.'-]{1,20}){0,2}))(?::| -)[ \t]+(?=\S)"
)
_SPOKEN_BY = re.compile(
    r"[ \t]*[*_]{0,2}[^\W\d_][\w.'-]{0,20}(?: [\w.'-]{1,20}){0,2}[*_]{0,2}[ \t]{1,8}\d{1,2}:\d\d(?: "
    r"?[AaPp][Mm])?[ \t]*$"
)
_LABELLED = re.compile(r"(?:\*\*|__)?([^\W\d_][^:*|?\n]{1,50}?)(?:\*\*|__)?[ \t]*[:?]?[ \t]*(?:\*\*|__)?[ \t]*$")
_LOG = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S{0,20}\]?[ \t]+\S{0,40}?[ \t]*[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|"
    r"WARN|ERROR|FATAL|CRIT)"
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

_SURELY_WRAPPED = 70


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text that belongs together, `notes[start:end]`, without list mark, check box, time and speaker."""

    start: int
    end: int
    context: Announced | None = None
    """What the heading above, or the head of the table's column, says about it."""
    item: bool = False
    ordered: bool = False
    checked: bool | None = None
    """Whether the check box is ticked; `None` where there is none."""
    quoted: bool = False
    spoken: bool = False
    leads: bool = False
    """Whether it ends with a colon, so that what follows hangs on it."""
    among_orders: bool = False
    """Whether it gives an order in a list of which most items do."""
    is_rejected: bool = False
    """Whether the heading or the head of the column says that it is not to be."""


@dataclass(slots=True)
class _Reader:
    """The state between lines."""

    notes: str
    speakers: frozenset[str]
    blocks: list[Block] = field(default_factory=list)
    headings: list[tuple[int, Context | None]] = field(default_factory=list)
    columns: list[Context | None] = field(default_factory=list)
    fence: str | None = None
    in_log: bool = False
    wrapped: frozenset[int] = frozenset()
    """Starts of plain lines that go on with the line before."""
    open: bool = False
    """Whether an indented line goes on with the last block."""

    @property
    def context(self) -> Context | None:
        return self.headings[-1][1] if self.headings else None

    def under(self, level: int, context: Context | None) -> None:
        """Enter a heading. One that says nothing keeps what the heading above it said."""
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, context or self.context))
        self.open = False


def blocks(notes: str) -> list[Block]:
    """Return the blocks in their order; code, logs, stack traces and headings are none."""
    lines = list(_lines(notes))
    reader = _Reader(notes, _speakers(notes, lines), wrapped=frozenset(_wrapped(notes, lines)))
    for number, (start, end) in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else (end, end)
        _read(reader, start, end, following)
    return reader.blocks


def _lines(notes: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(notes):
        end = notes.find("\n", start)
        end = len(notes) if end < 0 else end
        yield start, end - (end > start and notes[end - 1] == "\r")
        start = end + 1


_PLAIN_END = re.compile(r"[.!?:;…]['\"”’»)\]*_`]*\Z")


def _wrapped(notes: str, lines: list[tuple[int, int]]) -> Iterator[int]:
    """Yield the starts of lines that go on with the line before, because prose was wrapped at some width."""
    run: list[tuple[int, int]] = []
    for start, end in [*lines, (len(notes), len(notes))]:
        opens = start == end or _OPENS.match(notes, start, min(end, start + 120)) is not None
        if opens or not notes[start : start + 200].strip():
            yield from _in_run(notes, run)
            run = []
        if start < end and notes[start : start + 200].strip():
            run.append((start, end))


def _in_run(notes: str, run: list[tuple[int, int]]) -> Iterator[int]:
    """Lines were wrapped if none but the last, or one that ends a sentence, had room for the next line's first word."""
    width = max((end - start for start, end in run), default=0)
    if width < _WRAPPED:
        return
    joints = [
        (
            end - start + 1 + _first_word(notes, *following) > min(width, 400),
            following[0],
            notes[following[0]].islower(),
        )
        for (start, end), following in pairwise(run)
        if not _PLAIN_END.search(notes[max(start, end - 8) : end].rstrip())
    ]
    casual = notes[run[0][0] : run[0][1]].lstrip()[:1].islower()
    if len(joints) == 1 and (casual or (not joints[0][2] and (len(run) > 2 or width < _SURELY_WRAPPED))):
        return
    if sum(full for full, _, _ in joints) >= 0.75 * len(joints):
        yield from (start for full, start, lower in joints if full or lower)
    elif width >= _SURELY_WRAPPED and not casual:
        yield from (start for full, start, lower in joints if full and lower)


def _first_word(notes: str, start: int, end: int) -> int:
    return len((notes[start : min(end, start + 60)].split() or [""])[0])


def _speakers(notes: str, lines: list[tuple[int, int]]) -> frozenset[str]:
    """Names that open several lines, or one with a time before it."""
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
        reader.open = reader.in_log = False
        reader.columns = []
        return
    if _is_code(reader, start, end):
        reader.open = False
        return
    if _TABLE.match(notes, start, end) and end - start < BLOCK_LIMIT:
        _read_row(reader, start, end, following)
        return
    heading = _heading(reader, start, end, following)
    if heading is not None:
        reader.under(*heading)
        return
    if _UNDERLINE.match(notes, start, end) or _SPOKEN_BY.match(notes, start, min(end, start + 90)):
        reader.open = False
        return
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
    """Return level and meaning of a heading, `None` for any other line."""
    notes = reader.notes
    mark = _HEADING.match(notes, start, end)
    if mark:
        text = notes[mark.end() : min(end, mark.end() + 200)]
        return mark[0].count("#"), heading_context(text)
    if end - start > _HEADING_LIMIT:
        return None
    text = notes[start:end].strip()
    if _UNDERLINE.match(notes, *following) and not text.startswith(("-", "|", "*")):
        return (1 if notes[following[0]] in "=#*" else 2), heading_context(text)
    return _bare_heading(reader, text, following)


def _bare_heading(reader: _Reader, text: str, following: tuple[int, int]) -> tuple[int, Context | None] | None:
    """A short line without an end that a list follows, or one all in bold, or a known word with a colon."""
    notes = reader.notes
    label = _LABELLED.fullmatch(text)
    alone = not notes[following[0] : following[1]].strip()
    if text.lower().startswith(TITLES) and (alone or _NUMBER.match(notes, *following)):
        return 7, heading_context(text.split(":")[0])
    if not label or text.startswith(("- ", "* ", "+ ")) or _TIME.match(text):
        return None
    context = heading_context(label[1])
    listed = _BULLET.match(notes, *following) or _NUMBER.match(notes, *following)
    bold = text.startswith(("**", "__"))
    leads = text[-1] in ":?" and len(label[1].split()) <= 4
    known = context is not None and (leads or is_heading(text)) and not reader.open
    if (
        bold
        or known
        or (
            listed
            and not text.lower().startswith("to ")
            and len(text.split()) <= 5
            and not reader.open
            and text[-1] not in ".!?,;"
        )
    ):
        return 7, context
    return None


def _read_row(reader: _Reader, start: int, end: int, following: tuple[int, int]) -> None:
    notes = reader.notes
    reader.open = False
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
            reader.blocks.append(Block(first, last, announced(told), item=True, is_rejected=told == REJECTED))


def _cells(notes: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    position = notes.index("|", start) + 1
    while position < end:
        bar = notes.find("|", position, end)
        bar = end if bar < 0 else bar
        yield _stripped(notes, position, bar)
        position = bar + 1


def _read_text(reader: _Reader, start: int, end: int) -> None:
    notes = reader.notes
    at, context, checked = start, reader.context, None
    quote = _QUOTE.match(notes, at, end)
    at = quote.end() if quote else at
    org = _ORG_HEADING.match(notes, at, end)
    bullet = org or _BULLET.match(notes, at, end)
    ordered = _NUMBER.match(notes, at, end)
    mark = bullet or ordered
    at = mark.end() if mark else at
    state = _ORG_STATE.match(notes, at, end) if bullet else None
    box = _CHECKBOX.match(notes, at, end)
    if state:
        at, checked = state.end(), state[1] == "DONE"
    elif box:
        at, checked = box.end(), (box[1] or box[2]) not in " ☐"
    if org and checked is None:
        meaning = heading_context(notes[at:end]) if end - at <= _HEADING_LIMIT else None
        reader.under(2, meaning)
    time = _TIME.match(notes, at, end)
    at = time.end() if time else at
    speaker = _SPEAKER.match(notes, at, end)
    spoken = bool(speaker and (speaker[1] or speaker[2]).lower() in reader.speakers)
    at = speaker.end() if speaker and spoken else at
    first, last = _stripped(notes, at, end)
    plain = not (mark or box or time or spoken or quote)
    follows = start in reader.wrapped or (reader.open and notes[start] in " \t")
    if plain and follows and reader.blocks and last - reader.blocks[-1].start <= BLOCK_LIMIT:
        reader.blocks[-1] = _longer(reader.blocks[-1], last, notes)
    elif first < last:
        leads = notes[last - 1] == ":"
        reader.blocks.append(
            Block(
                first,
                last,
                announced(context),
                bool(mark or box),
                bool(ordered),
                checked,
                bool(quote),
                spoken or bool(time),
                leads,
                is_rejected=context == REJECTED,
            )
        )
    reader.open = True


def _longer(block: Block, end: int, notes: str) -> Block:
    return replace(block, end=end, leads=notes[end - 1] == ":", among_orders=False)


def _stripped(notes: str, start: int, end: int) -> tuple[int, int]:
    while start < end and notes[start].isspace():
        start += 1
    while end > start and notes[end - 1].isspace():
        end -= 1
    return start, end
