"""Extraction of findings from notes. Deterministic and linear, without a model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from tools.reflecting.reflection.cues import CLEAR, FAIR, SURE, hits, mask, words_of
from tools.reflecting.reflection.finding import CUE_CONFIDENCE, LABEL_CONFIDENCE, Finding, Kind
from tools.reflecting.reflection.layout import Block, blocks
from tools.reflecting.reflection.similarity import groups
from tools.reflecting.reflection.words import (
    IMPERATIVES,
    NOTHING,
    REJECTED,
    VERBS_OF_PEOPLE,
    Announced,
    announced,
    as_said,
    day_of,
    label_of,
    quotations,
    signals,
    title_of,
)
from tools.text.plain import one_line
from tools.text.sentences import sentences, word_set

SENTENCE_LIMIT = 1_200
"""Characters; anything longer is data, not prose."""
_SESSION_LIMIT = 2_000
_LEAST_SESSION_WORDS = 25
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEADS = ("to ", "how to ", "steps", "procedure", "workaround", "fix", "runbook", "the fix", "in order to")
FLOOR = 0.62
_CUE_CHARACTERS = 40
_ORDER: tuple[Kind, ...] = ("decision", "task", "artifact", "procedure", "plan", "idea", "claim")
_FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|but|yes|yeah|yep|no|hm+|well|aha?|oh|um|uh|also|good|great|right|now|then|→|->|"
    r"=>)[,:.!]?\s+){1,4}"
)
_OWNER = re.compile(
    r"(?:\A|[:,;] )(?:@([a-zA-Z][\w.-]{1,20})|([A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?))(:| -| to| will| is to|"
    r" has to| should|)\s+([a-z][\w-]+)"
)
"""“Tobias: check”, “Yuki to check”."""
_NO_OWNERS = word_set(
    "how what when where why who session notes note it this that we you they need needs want ok yes then"
)
_MADE = re.compile("[\ue000-\ue003]")
_ITEM_UNDER_HEADING, _PROSE_UNDER_HEADING, _EXPECTED_OWNER = 0.9, 0.78, 0.97


def extract(notes: str, *, limit: int | None = None) -> list[Finding]:
    """Find decisions, tasks, plans, ideas, claims, procedures and artifacts, in text order.

    Spans never overlap; repeated statements are counted; `limit` keeps the surest. Long notes without a finding become
    a `session`.
    """
    found = list(_found(notes))
    return folded(found, limit) if found else list(_session(notes))[:limit]


def folded(found: Sequence[Finding], limit: int | None) -> list[Finding]:
    """Return the surest findings in text order; repeated statements are one, with the number of times."""
    counts = Counter(groups([(each.kind, as_said(each.title, each.content)) for each in found]))
    surest = sorted(counts, key=lambda number: -found[number].confidence)[: None if limit is None else max(0, limit)]
    return [replace(found[number], count=counts[number]) for number in sorted(surest)]


def finding(
    notes: str, kind: Kind, place: tuple[int, int], reason: str, confidence: float, *, is_rejected: bool = False
) -> Finding:
    content = notes[slice(*place)]
    return Finding(kind, title_of(content, is_rejected=is_rejected), content, *place, reason, confidence)


def _found(notes: str) -> Iterator[Finding]:
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


def _in_block(block: Block, notes: str) -> Iterator[Finding]:
    text = notes[block.start : block.end]
    for index, (start, end) in enumerate(sentences(text)):
        verdict = _judge(_read(text[start:end], block), first=index == 0) if end - start <= SENTENCE_LIMIT else None
        if verdict:
            kind, reason, confidence = verdict
            place = block.start + start, block.start + end
            yield finding(notes, kind, place, reason, confidence, is_rejected=block.context == REJECTED)


def _steps_after(found: Sequence[Block], number: int, notes: str) -> int:
    block = found[number]
    led = block.leads and not block.ordered and notes[block.start : block.end].lower().startswith(_LEADS)
    if not led and block.context != "procedure":
        return number
    first = last = number + led
    while last < len(found) and found[last].ordered and found[last].checked is None:
        last += 1
    return last if last - first > 1 else number


def _steps(found: Sequence[Block], notes: str) -> Finding:
    start = found[0].start
    if found[0].ordered:
        line = notes.rfind("\n", 0, start) + 1
        start = line + len(notes[line:start]) - len(notes[line:start].lstrip())
    return finding(notes, "procedure", (start, found[-1].end), "Numbered steps.", LABEL_CONFIDENCE["procedure"])


def _session(notes: str) -> Iterator[Finding]:
    prose = [block for block in blocks(notes) if block.end - block.start >= 12]
    words = sum(
        len(_WORD.findall(notes, block.start, min(block.end, block.start + SENTENCE_LIMIT))) for block in prose[:200]
    )
    if words < _LEAST_SESSION_WORDS:
        return
    start = prose[0].start
    ends = (block.start + end for block in prose for _, end in sentences(notes[block.start : block.end]))
    end = max(takewhile(lambda each: each - start <= _SESSION_LIMIT, ends), default=start)
    if end > start:
        reason = "The notes hold no cue, so they are kept as one record of the session."
        yield finding(notes, "session", (start, end), reason, LABEL_CONFIDENCE["session"])


class _Vote(NamedTuple):
    kind: Kind
    strength: float
    reason: str
    confidence: float


class _Statement(NamedTuple):
    text: str
    masked: str
    words: list[str]
    signals: frozenset[str]
    label: Announced | None
    block: Block
    dated: bool = False


def _read(text: str, block: Block) -> _Statement:
    label = label_of(text)
    day = None if label else day_of(text)
    rest = text[label[1] :] if label else text[day or 0 :]
    masked = mask(rest)
    filler = _FILLER.match(masked)
    offset = filler.end() if filler and filler.end() < len(masked) else 0
    masked = masked[offset:]
    kind = announced(label[0]) if label else None
    return _Statement(rest[offset:], masked, words_of(masked), signals(masked), kind, block, day is not None)


def _judge(statement: _Statement, *, first: bool) -> tuple[Kind, str, float] | None:
    if not _says_something(statement):
        return None
    votes = [*_announced(statement, first=first), *_owned(statement), *_cued(statement)]
    sure = [(round(_weighed(vote, statement), 4), vote) for vote in votes]
    if not sure:
        return None
    sureness, vote = max(sure, key=lambda each: (each[0], -_ORDER.index(each[1].kind)))
    return (vote.kind, vote.reason, vote.confidence) if sureness >= FLOOR else None


def _says_something(statement: _Statement) -> bool:
    plain = statement.masked.strip(" .!?*_`'\"()[]")
    is_made = bool(_MADE.search(plain))
    if plain in NOTHING or not (is_made or any(character.isalpha() for character in plain)):
        return False
    is_announced = statement.label is not None or statement.block.checked is not None or bool(statement.block.context)
    return is_announced or len(statement.words) > 1 or is_made


def _announced(statement: _Statement, *, first: bool) -> Iterator[_Vote]:
    block, label = statement.block, statement.label
    if label and label != "mute":
        yield _Vote(label, SURE, f"A label announces {_a(label)}.", LABEL_CONFIDENCE[label])
    if statement.dated and not statement.words[0].endswith("ed"):
        yield _Vote("plan", FAIR, "A day or month announces it.", LABEL_CONFIDENCE["plan"])
    if block.checked is False and first:
        yield _Vote("task", SURE, "An empty check box stands before it.", LABEL_CONFIDENCE["task"])
    context = announced(block.context)
    if context and context != "mute" and not label and (block.item or context not in ("procedure", "artifact")):
        strength = _ITEM_UNDER_HEADING if block.item and first else _PROSE_UNDER_HEADING
        reason = f"It stands under a heading that announces {_a(context)}."
        yield _Vote(context, strength, reason, LABEL_CONFIDENCE[context])


def _owned(statement: _Statement) -> Iterator[_Vote]:
    match = _OWNER.search(statement.text)
    if not match or (match[1] or match[2]).lower() in _NO_OWNERS:
        return
    name, link, verb = match[1] or match[2], match[3].strip(), match[4]
    expected = announced(statement.block.context) in ("task", "decision", "plan") or statement.label in ("task", "plan")
    does = {verb.removesuffix("s"), verb.removesuffix("es")} & IMPERATIVES or verb == "will"
    if verb in IMPERATIVES and link:
        strength = _EXPECTED_OWNER if expected else FAIR if link == "will" else CLEAR
    elif expected and does:
        strength = _EXPECTED_OWNER
    elif verb in VERBS_OF_PEOPLE and not link:
        strength = FAIR
    else:
        return
    yield _Vote("task", strength, f"“{name}” is to do it.", LABEL_CONFIDENCE["task"])


def _cued(statement: _Statement) -> Iterator[_Vote]:
    quoted = quotations(statement.text)
    for row, first, last in hits(statement.masked, statement.words):
        is_quoted = any(start <= first and last <= end for start, end in quoted)
        reason = f"“{one_line(statement.text[first:last], _CUE_CHARACTERS)}” {row.says}."
        yield _Vote(row.kind, row.strength * (0.5 if is_quoted else 1.0), reason, CUE_CONFIDENCE[row.kind])


_MUTED: dict[str, frozenset[Kind]] = {
    "question": frozenset({"decision", "plan", "claim", "procedure", "artifact"}),
    "undecided": frozenset({"decision", "plan", "claim", "idea"}),
    "unknown": frozenset({"decision", "plan", "claim", "idea"}),
    "reported_doubt": frozenset({"decision", "plan", "idea"}),
    "refuted": frozenset({"decision", "claim", "idea", "procedure"}),
}


def _weighed(vote: _Vote, statement: _Statement) -> float:
    found, block = statement.signals, statement.block
    is_label = vote.strength == SURE and statement.label == vote.kind
    if not is_label and any(vote.kind in _MUTED[name] for name in found & _MUTED.keys()):
        return 0.0
    if block.checked and vote.kind in ("task", "plan"):
        return 0.0
    is_mute = statement.label == "mute" or block.context == "mute"
    if "question" in found and not is_label:
        if vote.kind == "task" and "you" not in statement.words:
            return 0.0
        if vote.kind == "idea" and (is_mute or (vote.strength < CLEAR and block.context != "idea")):
            return 0.0
    doubt = 0.15 if "hedge" in found and vote.kind not in ("idea", "task") else 0.0
    return vote.confidence * vote.strength - doubt - (0.05 if is_mute else 0.0)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
