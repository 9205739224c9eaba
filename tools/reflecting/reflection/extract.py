"""Extraction of findings from notes. Deterministic and linear, without a model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tools.reflecting.reflection.finding import CEILINGS, Finding, Kind, sensitivity_flags
from tools.reflecting.reflection.judging import judge, read
from tools.reflecting.reflection.layout import Block, blocks, sentences
from tools.reflecting.reflection.similarity import groups
from tools.reflecting.reflection.stating import as_rejected, title_of

SENTENCE_LIMIT = 1_200
"""Characters; anything longer is data, not prose."""
_SESSION_LIMIT = 2_000
_SESSION_WORDS = 25
"""Notes with fewer words and no finding are small talk."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEADS = ("to ", "how to ", "steps", "procedure", "workaround", "fix", "runbook", "the fix", "in order to")


@dataclass(frozen=True, slots=True)
class Span:
    kind: Kind
    start: int
    end: int
    reason: str
    confidence: float
    is_rejected: bool = False
    title: str = ""
    """Without one, it is made of the content."""


def extract(notes: str, *, limit: int | None = None) -> list[Finding]:
    """Find decisions, tasks, plans, ideas, claims, procedures and artifacts, in text order.

    Spans never overlap; repeated statements are counted; `limit` keeps the surest. Long notes without a finding become
    a `session`.
    """
    spans = list(_spans(notes))
    if not spans:
        return list(_session(notes))[:limit]
    return findings_of(notes, spans, limit)


def findings_of(notes: str, spans: Sequence[Span], limit: int | None) -> list[Finding]:
    """Make findings of the surest spans, in text order; repeated statements are one, with the number of times."""
    counts = Counter(groups([(span.kind, _said(notes, span)) for span in spans]))
    surest = sorted(counts, key=lambda number: -spans[number].confidence)[: None if limit is None else max(0, limit)]
    return [_finding(notes, spans[number], counts[number]) for number in sorted(surest)]


def _spans(notes: str) -> Iterator[Span]:
    found = blocks(notes)
    number = 0
    while number < len(found):
        after = _steps_after(found, number, notes)
        if after > number:
            yield _steps(found[number:after], notes)
            number = after
        else:
            yield from _in_block(found[number], notes)
            number += 1


def _in_block(block: Block, notes: str) -> Iterator[Span]:
    text = notes[block.start : block.end]
    for index, (start, end) in enumerate(sentences(text)):
        verdict = judge(read(text[start:end], block), first=index == 0) if end - start <= SENTENCE_LIMIT else None
        if verdict:
            place = block.start + start, block.start + end
            yield Span(verdict.kind, *place, verdict.reason, verdict.confidence, block.is_rejected)


def _steps_after(found: Sequence[Block], number: int, notes: str) -> int:
    block = found[number]
    led = block.leads and not block.ordered and notes[block.start : block.end].lower().startswith(_LEADS)
    if not led and block.context != "procedure":
        return number
    first = last = number + led
    while last < len(found) and found[last].ordered and found[last].checked is None:
        last += 1
    return last if last - first > 1 else number


def _steps(found: Sequence[Block], notes: str) -> Span:
    start = found[0].start
    if found[0].ordered:
        line = notes.rfind("\n", 0, start) + 1
        start = line + len(notes[line:start]) - len(notes[line:start].lstrip())
    return Span("procedure", start, found[-1].end, "Numbered steps.", CEILINGS["procedure"])


def _session(notes: str) -> Iterator[Finding]:
    prose = [block for block in blocks(notes) if block.end - block.start >= 12]
    words = sum(
        len(_WORD.findall(notes, block.start, min(block.end, block.start + SENTENCE_LIMIT))) for block in prose[:200]
    )
    if words < _SESSION_WORDS:
        return
    start = prose[0].start
    ends = (block.start + end for block in prose for _, end in sentences(notes[block.start : block.end]))
    end = max(takewhile(lambda each: each - start <= _SESSION_LIMIT, ends), default=start)
    if end > start:
        reason = "The notes hold no cue, so they are kept as one record of the session."
        yield _finding(notes, Span("session", start, end, reason, CEILINGS["session"]), 1)


def _said(notes: str, span: Span) -> str:
    text = notes[span.start : span.end]
    return as_rejected(text) if span.is_rejected else text


def _finding(notes: str, span: Span, count: int) -> Finding:
    content = notes[span.start : span.end]
    return Finding(
        kind=span.kind,
        title=span.title or title_of(content, is_rejected=span.is_rejected),
        content=content,
        start=span.start,
        end=span.end,
        reason=span.reason,
        confidence=span.confidence,
        sensitivity_flags=sensitivity_flags(content),
        count=count,
    )
