"""Weighs what speaks for each kind in one sentence, and picks one or none. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.reflection.cue_row import CEILINGS, CLEAR, CUED, FAIR, SURE, WEAK
from tools.reflection.cues import Hit, hits
from tools.reflection.finding import Kind
from tools.reflection.layout import Block
from tools.reflection.phrases import mask, words_of
from tools.reflection.signals import IMPERATIVES, PEOPLE_DO, THINGS_DO, condition_before, quotations, signals
from tools.reflection.wordlist import word_set
from tools.reflection.words import NOTHING, Announced, announced, day_of, label_of

FLOOR = 0.62
"""Less sure than this is not found."""
QUOTED = 0.1
"""By so much is less sure what stands in a quotation."""
_ORDER: tuple[Kind, ...] = ("decision", "task", "artifact", "procedure", "plan", "idea", "claim")
"""Which kind wins when two are equally sure."""
_FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|but|yes|yeah|yep|no|hm+|well|aha?|oh|um|uh|also|good|great|right|now|then|→|->|"
    r"=>)[,:.!]?\s+){1,4}"
)
_OWNER = re.compile(
    r"(?:\A|[:,;] )(?:@([a-zA-Z][\w.-]{1,20})|([A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?))(:| -| to| will| is to|"
    r" has to| should|)\s+([a-z][\w-]+)"
)
"""Who, how the sentence goes on, and the first word after it."""
_NO_OWNERS = word_set(
    """
    how what when where why who session notes note it this that we you they need needs want ok yes then
    """
)
_OWNER_AFTER = re.compile(
    r"\(@?[A-Z][^\W\d_]{1,20}(?:,[\w .]{1,20})?\)[.\s]*\Z|(?:→|->|—|–) @?[A-Z][^\W\d_]{1,20}[.\s]*\Z|"
    r"(?<!\w)@[a-zA-Z][\w.-]{1,30}"
)
_DETERMINERS = word_set("the our their its this that each every any all a an your my these those")
_SUBJECT = 8
"""Words in which a subject and its verb are looked for."""
_NO_ORDER = word_set("me w of is are was were has have had on in with and or by")
"""Words after which a verb at the start was a noun: “review of …”, “update on …”."""
_STEP = re.compile(r"(?:^|[,;:]\s+|\band\s+|\bthen\s+)(\w+)\b")
_LEADING = 7
"""Fewer words with a colon at the end only lead to what follows."""
_HEADED = 0.9
_MADE = re.compile("[\ue000-\ue003]")
_HEADED_PROSE = 0.78


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a sentence is, how sure that is, and which words say so."""

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
    """One sentence as the cue table reads it: in lower case, without label and filler."""

    text: str
    masked: str
    words: list[str]
    signals: frozenset[str]
    label: Announced | None
    block: Block
    dated: bool = False
    """Whether a day or month with a colon opens it."""


def read(text: str, block: Block) -> Statement:
    """Read a sentence of a block."""
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
    """Return what a sentence is, or nothing. `first` says that it opens its block."""
    if not _says_something(statement) or (statement.block.leads and len(statement.words) < _LEADING):
        return None
    votes = [*_announced(statement, first=first), *_shaped(statement), *_behaves(statement), *_cued(statement)]
    best: dict[Kind, tuple[float, _Vote]] = {}
    for vote in votes:
        sure = _weighed(vote, statement)
        if sure > best.get(vote.kind, (0.0, vote))[0]:
            best[vote.kind] = (sure, vote)
    # Two different hints at one kind are a little surer than the better of them.
    for kind, (sure, vote) in best.items():
        seconded = len({other.reason for other in votes if other.kind == kind}) > 1
        best[kind] = (min(vote.ceiling, sure + 0.03) if seconded else sure, vote)
    if not best:
        return None
    kind = max(best, key=lambda kind: (round(best[kind][0], 4), -_ORDER.index(kind)))
    confidence, vote = best[kind]
    return Verdict(kind, round(confidence, 2), vote.reason) if confidence >= FLOOR else None


def _says_something(statement: Statement) -> bool:
    plain = statement.masked.strip(" .!?*_`'\"()[]")
    if plain in NOTHING or not any(character.isalpha() or "\ue000" <= character <= "\ue003" for character in plain):
        return False
    announced = statement.label is not None or statement.block.checked is not None or bool(statement.block.context)
    return announced or len(statement.words) > 1 or bool(_MADE.search(plain))


def _announced(statement: Statement, *, first: bool) -> list[_Vote]:
    """What label, check box and heading say."""
    votes: list[_Vote] = []
    block, label = statement.block, statement.label
    if label == "artifact" and not _MADE.search(statement.masked):
        label = None
    if label and label != "mute":
        votes.append(_Vote(label, SURE, f"A label announces {_a(label)}.", CEILINGS[label]))
    if statement.dated and not statement.words[0].endswith("ed"):
        votes.append(_Vote("plan", FAIR, "A day or month announces it.", CEILINGS["plan"]))
    if block.among_orders and first:
        votes.append(_Vote("task", FAIR, "It gives an order, as most items of its list do.", CEILINGS["task"]))
    if block.checked is False and first:
        votes.append(_Vote("task", SURE, "An empty check box stands before it.", CEILINGS["task"]))
    context = block.context
    if context and context != "mute" and not label and (block.item or context not in ("procedure", "artifact")):
        strength = _HEADED if block.item and first else _HEADED_PROSE
        votes.append(
            _Vote(context, strength, f"It stands under a heading that announces {_a(context)}.", CEILINGS[context])
        )
    return votes


def _shaped(statement: Statement) -> list[_Vote]:
    """What the form of the sentence says: who is to do it, and whether it gives orders."""
    votes = [*_owned(statement)]
    words = statement.words
    if statement.block.context == "mute" or not _orders(words):
        return votes
    if _OWNER_AFTER.search(statement.text):
        votes.append(_Vote("task", CLEAR, "It gives an order and names who is to follow it.", CEILINGS["task"]))
    else:
        votes.append(_Vote("task", WEAK, "It gives an order.", CEILINGS["task"]))
    if sum(word in IMPERATIVES for word in _STEP.findall(statement.masked)) > 1:
        votes.append(_Vote("procedure", FAIR, "It tells several steps.", CEILINGS["procedure"]))
    if "question" in statement.signals:
        votes.append(_Vote("idea", CLEAR, "It asks whether to do something.", CUED["idea"]))
    return votes


def _behaves(statement: Statement) -> list[_Vote]:
    """A thing and a verb in the third person: how it behaves."""
    opening = statement.words[:_SUBJECT]
    if opening and opening[0] in _DETERMINERS and any(word in THINGS_DO for word in opening[2:]):
        verb = next(word for word in opening[2:] if word in THINGS_DO)
        return [
            _Vote("claim", FAIR, f"“{opening[0]} {opening[1]} … {verb}” tells how something behaves.", CUED["claim"])
        ]
    return []


def gives_order(text: str) -> bool:
    """Whether the first words of a text are those of an order."""
    return _orders(words_of(mask(text)))


def _orders(words: list[str]) -> bool:
    if len(words) < 2 or words[0] not in IMPERATIVES or words[1] in _NO_ORDER or words[1] in THINGS_DO:
        return False
    return not words[1].endswith("ed") and not (words[0] == "run" and words[1][0].isdigit())


def _owned(statement: Statement) -> Iterator[_Vote]:
    """Somebody is to do something: “Tobias: load test”, “Yuki to check”, “Petra sets up” where tasks are expected."""
    match = _OWNER.search(statement.text)
    if not match or (match[1] or match[2]).lower() in _NO_OWNERS:
        return
    name, link, verb = match[1] or match[2], match[3].strip(), match[4]
    expected = statement.block.context in ("task", "decision", "plan") or statement.label in ("task", "plan")
    if verb in IMPERATIVES and link:
        strength = 0.97 if expected else FAIR if link == "will" else CLEAR
        yield _Vote("task", strength, f"“{name}” is to do it.", CEILINGS["task"])
    elif expected and (
        verb.removesuffix("s") in IMPERATIVES or verb.removesuffix("es") in IMPERATIVES or verb == "will"
    ):
        yield _Vote("task", 0.97, f"“{name}” does it.", CEILINGS["task"])
    elif verb in PEOPLE_DO and not link:
        yield _Vote("task", FAIR, f"“{name}” does it.", CEILINGS["task"])


def _cued(statement: Statement) -> list[_Vote]:
    quoted = quotations(statement.text)
    votes = []
    for hit in hits(statement.masked, statement.words):
        words = statement.text[hit.start : hit.end].strip()
        strength = hit.cue.strength * (0.5 if _within(hit, quoted) else 1.0)
        if hit.cue.kind in ("decision", "plan") and condition_before(statement.masked, hit.start):
            strength *= 0.6
        words = words if len(words) <= 40 else words[:39].rsplit(" ", 1)[0] + " …"
        reason = f"“{' '.join(words.split())}” {hit.cue.says}."
        votes.append(_Vote(hit.cue.kind, strength, reason, CUED[hit.cue.kind]))
    return votes


def _within(hit: Hit, spans: list[tuple[int, int]]) -> bool:
    return any(start <= hit.start and hit.end <= end for start, end in spans)


_MUTED: dict[str, frozenset[Kind]] = {
    "question": frozenset({"decision", "plan", "claim", "procedure", "artifact"}),
    "undecided": frozenset({"decision", "plan", "claim", "idea"}),
    "unknown": frozenset({"decision", "plan", "claim", "idea"}),
    "reported_doubt": frozenset({"decision", "plan", "idea"}),
    "refuted": frozenset({"decision", "claim", "idea", "procedure"}),
}
"""Which kinds a sentence cannot be when it says such a thing."""


def _weighed(vote: _Vote, statement: Statement) -> float:
    """How sure a vote is in its sentence."""
    found = statement.signals
    announced = vote.strength == SURE and statement.label == vote.kind
    if not announced and any(vote.kind in _MUTED[name] for name in found & _MUTED.keys()):
        return 0.0
    sure = vote.ceiling * vote.strength
    if "hedge" in found and vote.kind not in ("idea", "task"):
        sure -= 0.15
    if statement.block.quoted:
        sure -= QUOTED
    if statement.block.checked and vote.kind in ("task", "plan"):
        return 0.0
    muted = statement.label == "mute" or statement.block.context == "mute"
    if muted and vote.kind in ("claim", "idea", "procedure", "decision") and "question" in found:
        return 0.0
    if vote.kind == "task" and "question" in found and not announced and "you" not in statement.words:
        return 0.0
    if vote.kind == "idea" and "question" in found and statement.block.context != "idea":
        return sure if vote.strength >= CLEAR else 0.0
    return sure - (0.05 if muted else 0.0)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
