"""`extract`: plain notes in, what is worth keeping out. Deterministic, linear, without a model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tools.reflection.cue_row import CEILINGS
from tools.reflection.finding import Finding, Kind
from tools.reflection.judging import QUOTED, gives_order, judge, read
from tools.reflection.layout import Block, blocks
from tools.reflection.sensitivity import sensitivity_flags
from tools.reflection.sentences import sentences
from tools.reflection.similarity import groups
from tools.reflection.stating import as_rejected
from tools.reflection.steps import steps_in
from tools.reflection.titles import tags_of, title_of

SENTENCE_LIMIT = 1_200
"""A sentence longer than this is data, not prose."""
_SESSION_LIMIT = 2_000
_SESSION_WORDS = 25
"""Notes with fewer words are small talk if nothing else is found in them."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class _Span:
    kind: Kind
    start: int
    end: int
    reason: str
    confidence: float
    is_rejected: bool = False
    """Whether what stands around it says that it is not to be."""


def extract(notes: str, *, limit: int | None = None) -> list[Finding]:
    """Find decisions, tasks, plans, ideas, claims, procedures and artifacts in session notes, in the order of the text.

    Spans are character offsets, never overlap, and hold the content to the letter. What is said twice is found once and
    counted. With `limit`, the surest stay (ties: the earlier). Notes of some length in which nothing is found give one
    finding of kind `session`. Time and memory grow with the length of the notes alone.
    """
    spans = list(_spans(notes))
    if not spans:
        return list(_session(notes))[:limit]
    found = _folded(notes, spans)
    if limit is not None and len(found) > limit:
        surest = sorted(found, key=lambda entry: (-entry[0].confidence, entry[0].start))[: max(0, limit)]
        found = sorted(surest, key=lambda entry: entry[0].start)
    return [_finding(notes, span, count) for span, count in found]


def _spans(notes: str) -> Iterator[_Span]:
    found = _with_orders(blocks(notes), notes)
    number = 0
    while number < len(found):
        after = _steps_after(found, number, notes)
        if after > number + 1:
            yield _steps(found[number:after], notes)
            number = after
            continue
        yield from _in_block(found[number], notes)
        number += 1


def _with_orders(found: Sequence[Block], notes: str) -> list[Block]:
    """Read a list as tasks where no heading says otherwise and most of its items are orders."""
    marked = list(found)
    for listed, run in groupby(enumerate(found), key=lambda entry: entry[1].item and entry[1].context is None):
        items = list(run) if listed else []
        orders = [
            (number, block)
            for number, block in items
            if gives_order(notes[block.start : min(block.end, block.start + 80)])
        ]
        if len(orders) > 1 and 2 * len(orders) >= len(items):
            for number, block in orders:
                marked[number] = replace(block, among_orders=True)
    return marked


def _in_block(block: Block, notes: str) -> Iterator[_Span]:
    text = notes[block.start : block.end]
    lines = list(steps_in(text)) if _may_tell_steps(block) else []
    for index, (start, end) in enumerate(sentences(text)):
        while lines and lines[0][1] <= start:
            lines.pop(0)
        if lines and lines[0][0] <= start:
            if lines[0][0] == start:
                yield _in_a_line(block, lines[0])
            continue
        if end - start > SENTENCE_LIMIT:
            continue
        verdict = judge(read(text[start:end], block), first=index == 0)
        if verdict:
            at = block.start + start
            yield _Span(verdict.kind, at, block.start + end, verdict.reason, verdict.confidence, block.is_rejected)


def _may_tell_steps(block: Block) -> bool:
    return block.checked is None and block.context not in ("task", "mute")


def _in_a_line(block: Block, line: tuple[int, int]) -> _Span:
    reason = "Steps in a line that tell how to do something."
    confidence = CEILINGS["procedure"] - (QUOTED if block.quoted else 0.0)
    return _Span(
        "procedure", block.start + line[0], block.start + line[1], reason, round(confidence, 2), block.is_rejected
    )


def _steps_after(found: Sequence[Block], number: int, notes: str) -> int:
    """Return the place after a run of numbered steps that tell one procedure, with the line that leads to them."""
    first = number
    led = found[number].leads and not found[number].ordered and _leads_to_steps(found[number], notes)
    if led:
        first += 1
    elif found[number].context != "procedure":
        return number
    last = first
    while last < len(found) and found[last].ordered and found[last].checked is None:
        last += 1
    return last if last - first > 1 else number


def _leads_to_steps(block: Block, notes: str) -> bool:
    text = notes[block.start : block.end].lower()
    return text.startswith(
        ("to ", "how to ", "steps", "procedure", "workaround", "fix", "runbook", "the fix", "in order to")
    )


def _steps(found: Sequence[Block], notes: str) -> _Span:
    start, end = found[0].start, found[-1].end
    reason = "Numbered steps that tell how to do something."
    return _Span(
        "procedure", _line_start(notes, start) if found[0].ordered else start, end, reason, CEILINGS["procedure"]
    )


def _line_start(notes: str, position: int) -> int:
    """Return where the number of a step begins."""
    start = notes.rfind("\n", 0, position) + 1
    while start < position and notes[start].isspace():
        start += 1
    return start


def _folded(notes: str, spans: Sequence[_Span]) -> list[tuple[_Span, int]]:
    leaders = groups([(span.kind, _said(notes, span)) for span in spans])
    counts: dict[int, int] = {}
    for leader in leaders:
        counts[leader] = counts.get(leader, 0) + 1
    return [(spans[number], count) for number, count in sorted(counts.items())]


def _session(notes: str) -> Iterator[Finding]:
    """Keep notes of some length in which no cue stands as one record: their first 2,000 characters at most."""
    prose = [block for block in blocks(notes) if block.end - block.start >= 12]
    words = sum(
        len(_WORD.findall(notes, block.start, min(block.end, block.start + SENTENCE_LIMIT))) for block in prose[:200]
    )
    if words < _SESSION_WORDS:
        return
    start, end = prose[0].start, prose[0].start
    for block in prose:
        for _, stop in sentences(notes[block.start : block.end]):
            if block.start + stop - start > _SESSION_LIMIT:
                break
            end = block.start + stop
        else:
            continue
        break
    if end > start:
        reason = "No cue stands in the notes, so that they are kept as one record of the session."
        yield _finding(notes, _Span("session", start, end, reason, CEILINGS["session"]), 1)


def _said(notes: str, span: _Span) -> str:
    text = notes[span.start : span.end]
    return as_rejected(text) if span.is_rejected else text


def _finding(notes: str, span: _Span, count: int) -> Finding:
    content = notes[span.start : span.end]
    return Finding(
        kind=span.kind,
        title=title_of(content, is_rejected=span.is_rejected),
        content=content,
        start=span.start,
        end=span.end,
        reason=span.reason,
        confidence=span.confidence,
        tags=tags_of(span.kind, content),
        sensitivity_flags=sensitivity_flags(content),
        count=count,
    )
