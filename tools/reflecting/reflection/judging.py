"""Judging: the votes for each kind in a sentence, and the kind that wins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.reflecting.reflection.cues import CLEAR, FAIR, SURE, hits, mask, words_of
from tools.reflecting.reflection.finding import CEILINGS, CUED, Kind, word_set
from tools.reflecting.reflection.layout import Block
from tools.reflecting.reflection.words import (
    IMPERATIVES,
    NOTHING,
    PEOPLE_DO,
    Announced,
    announced,
    day_of,
    label_of,
    quotations,
    signals,
)
from tools.text.plain import one_line

FLOOR = 0.62
_SHOWN = 40
"""Characters of a cue in the reason."""
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


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Vote:
    kind: Kind
    strength: float
    reason: str
    ceiling: float


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    masked: str
    words: list[str]
    signals: frozenset[str]
    label: Announced | None
    block: Block
    dated: bool = False


def read(text: str, block: Block) -> Statement:
    label = label_of(text)
    day = None if label else day_of(text)
    rest = text[label[1] :] if label else text[day or 0 :]
    masked = mask(rest)
    filler = _FILLER.match(masked)
    offset = filler.end() if filler and filler.end() < len(masked) else 0
    masked = masked[offset:]
    kind = announced(label[0]) if label else None
    return Statement(rest[offset:], masked, words_of(masked), signals(masked), kind, block, day is not None)


def judge(statement: Statement, *, first: bool) -> Verdict | None:
    """Return the surest kind, or none; `first` if the sentence opens its block."""
    if not _says_something(statement):
        return None
    votes = [*_announced(statement, first=first), *_owned(statement), *_cued(statement)]
    sure = [(round(_weighed(vote, statement), 4), vote) for vote in votes]
    if not sure:
        return None
    confidence, vote = max(sure, key=lambda each: (each[0], -_ORDER.index(each[1].kind)))
    return Verdict(vote.kind, round(confidence, 2), vote.reason) if confidence >= FLOOR else None


def _says_something(statement: Statement) -> bool:
    plain = statement.masked.strip(" .!?*_`'\"()[]")
    is_made = bool(_MADE.search(plain))
    if plain in NOTHING or not (is_made or any(character.isalpha() for character in plain)):
        return False
    is_announced = statement.label is not None or statement.block.checked is not None or bool(statement.block.context)
    return is_announced or len(statement.words) > 1 or is_made


def _announced(statement: Statement, *, first: bool) -> Iterator[_Vote]:
    block, label = statement.block, statement.label
    if label and label != "mute":
        yield _Vote(label, SURE, f"A label announces {_a(label)}.", CEILINGS[label])
    if statement.dated and not statement.words[0].endswith("ed"):
        yield _Vote("plan", FAIR, "A day or month announces it.", CEILINGS["plan"])
    if block.checked is False and first:
        yield _Vote("task", SURE, "An empty check box stands before it.", CEILINGS["task"])
    context = block.context
    if context and context != "mute" and not label and (block.item or context not in ("procedure", "artifact")):
        strength = _ITEM_UNDER_HEADING if block.item and first else _PROSE_UNDER_HEADING
        reason = f"It stands under a heading that announces {_a(context)}."
        yield _Vote(context, strength, reason, CEILINGS[context])


def _owned(statement: Statement) -> Iterator[_Vote]:
    match = _OWNER.search(statement.text)
    if not match or (match[1] or match[2]).lower() in _NO_OWNERS:
        return
    name, link, verb = match[1] or match[2], match[3].strip(), match[4]
    expected = statement.block.context in ("task", "decision", "plan") or statement.label in ("task", "plan")
    does = {verb.removesuffix("s"), verb.removesuffix("es")} & IMPERATIVES or verb == "will"
    if verb in IMPERATIVES and link:
        strength = _EXPECTED_OWNER if expected else FAIR if link == "will" else CLEAR
    elif expected and does:
        strength = _EXPECTED_OWNER
    elif verb in PEOPLE_DO and not link:
        strength = FAIR
    else:
        return
    yield _Vote("task", strength, f"“{name}” is to do it.", CEILINGS["task"])


def _cued(statement: Statement) -> Iterator[_Vote]:
    quoted = quotations(statement.text)
    for hit in hits(statement.masked, statement.words):
        row = hit.row
        words = statement.text[hit.start : hit.end]
        is_quoted = any(start <= hit.start and hit.end <= end for start, end in quoted)
        reason = f"“{one_line(words, _SHOWN)}” {row.says}."
        yield _Vote(row.kind, row.strength * (0.5 if is_quoted else 1.0), reason, CUED[row.kind])


_MUTED: dict[str, frozenset[Kind]] = {
    "question": frozenset({"decision", "plan", "claim", "procedure", "artifact"}),
    "undecided": frozenset({"decision", "plan", "claim", "idea"}),
    "unknown": frozenset({"decision", "plan", "claim", "idea"}),
    "reported_doubt": frozenset({"decision", "plan", "idea"}),
    "refuted": frozenset({"decision", "claim", "idea", "procedure"}),
}


def _weighed(vote: _Vote, statement: Statement) -> float:
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
    return vote.ceiling * vote.strength - doubt - (0.05 if is_mute else 0.0)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
