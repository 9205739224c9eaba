"""Near-duplicates, and contradictions. Prefers silence to a false alarm."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from stores.language.spelling import in_one_spelling
from tools.reflecting.reflection.cues import lower, mask
from tools.reflecting.reflection.words import UNSETTLED, Context, Stated, differ, signals, stated
from tools.text.plain import one_line
from tools.text.sentences import sentences, word_set

_WORD = re.compile(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*|\d[\d.,:]*|[_@#+][\w.]+")
_SPLIT_NUMBER = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
STOP_WORDS = word_set(
    """
    a about above actually after again all already also am an and any are as at be because been before being
    below both but by can could did do does doing down during each even few finally for from further had has
    have having he her here him his how i if in into is it its itself just later like me more most my myself now of
    off ok on once only or other our out over own really same she should so some still such than that the their
    them then there therefore these they this those through to todo too under until up us very was we well were
    what when where which while who why will with would yes you your i'll i'm it's let's that's we'll we're
    we've decision decided action task idea plan note
    """
)
NEGATIONS = word_set(
    """
    no not never none nothing nobody neither nor without cannot can't don't doesn't didn't isn't aren't wasn't
    weren't won't wouldn't shouldn't couldn't hasn't haven't hadn't longer stop stopped
    """
)
TURNS = (
    ("on", "off"), ("up", "down"), ("before", "after"), ("until", "after"), ("above", "below"), ("over", "under"),
    ("first", "last"), ("in", "out"), ("more", "less"),
)  # fmt: skip
_TURNING = frozenset(word for pair in TURNS for word in pair) | {"only", "once"}
_PREPOSITIONS = frozenset({"in", "on", "over", "up", "under", "out"})
_ENDINGS = ("ations", "ation", "ments", "ment", "ings", "ing", "ied", "ies", "ed", "es", "s")
_NO_ENDINGS = ("ss", "us", "is")
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Terms:
    """Bag of stems; `turns` are stop words that change the meaning."""

    stems: frozenset[str]
    numbers: frozenset[str]
    negated: bool
    turns: frozenset[str] = frozenset()


def terms(text: str) -> Terms:
    """Read a sentence; an even number of negations is none."""
    words = _WORD.findall(_SPLIT_NUMBER.sub(" ", text.lower().replace("’", "'")))
    numbers = frozenset(word.rstrip(".,:").replace(",", "") for word in words if word[0].isdigit())
    negations = {word for word in words if word in NEGATIONS}
    negations -= {"longer"} if "no" in negations else set()
    stems = frozenset(
        stem(word) for word in words if not word[0].isdigit() and word not in STOP_WORDS and word not in NEGATIONS
    )
    return Terms(stems, numbers, len(negations) % 2 == 1, _TURNING.intersection(words))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    word = in_one_spelling(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith(_NO_ENDINGS):
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient; 0 for two empty sets."""
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0


SAME = 0.75
"""Dice's coefficient of stems."""
CERTAIN = 0.95
"""Such a duplicate is not kept; below, a name or a verb may differ."""
UNSURE = 0.94
"""Upper bound for statements of different kinds."""
_CLAUSE = re.compile(r",? (?:which|because|since|so that|although|whereas|instead of|rather than)\b|; ")
_KNOWN_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Duplicate:
    index: int
    similarity: float


def duplicates_of(
    text: str, known: Sequence[str], *, kind: Context | None = None, kinds: Sequence[Context | None] = ()
) -> list[Duplicate]:
    """Return the known texts that hold what `text` says, nearest first.

    Reads 20,000 characters. A number, polarity or kind (by label, else `kind` and `kinds`) that differs is no certain
    duplicate.
    """
    wanted = stated(text, kind)
    read = _terms(wanted)
    found = []
    for index, (candidate, its_kind) in enumerate(zip(known, kinds or [None] * len(known), strict=True)):
        best = 0.0
        for part in _parts(candidate, its_kind):
            shared = similarity(read, _terms(part))
            best = max(best, min(shared, UNSURE) if differ(wanted.context, part.context) else shared)
        if best >= SAME:
            found.append(Duplicate(index, round(best, 3)))
    return sorted(found, key=lambda duplicate: (-duplicate.similarity, duplicate.index))


def _terms(statement: Stated) -> Terms:
    read = terms(statement.text)
    return replace(read, negated=not read.negated) if statement.is_rejected else read


def _parts(text: str, kind: Context | None) -> Iterable[Stated]:
    text = text[:_KNOWN_LIMIT]
    yield stated(text, kind)
    for start, end in sentences(text):
        for line in text[start:end].splitlines():
            statement = stated(line, kind)
            yield statement
            head = _CLAUSE.split(statement.text, 1)[0]
            if len(head) < len(statement.text):
                yield statement._replace(text=head)


def similarity(one: Terms, other: Terms) -> float:
    if one.negated != other.negated or one.numbers != other.numbers or not one.stems or _opposed(one, other):
        return 0.0
    shared = overlap(one.stems, other.stems)
    return min(shared, UNSURE) if (one.turns ^ other.turns) - _PREPOSITIONS else shared


def _opposed(one: Terms, other: Terms) -> bool:
    ours, theirs = one.turns - other.turns, other.turns - one.turns
    return any((a in ours and b in theirs) or (b in ours and a in theirs) for a, b in TURNS)


def groups(texts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the index of each text's first duplicate, or its own.

    Duplicates have the same letters, or the same kind, stems, numbers, polarity and turns.
    """
    first: dict[object, int] = {}
    leaders = []
    for number, (kind, text) in enumerate(texts):
        read = _terms(stated(text))
        leader = first.setdefault(" ".join(text.lower().split()).rstrip(".!"), number)
        if leader == number and read.stems:
            leader = first.setdefault((kind, read), number)
        leaders.append(leader)
    return leaders


_SENTENCES = 40
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-+*•>#]|[0-9]{1,3}[.)])[ \t])")
_SAME_SENTENCE = 0.85
_OPEN = frozenset({"question", "hedge", "condition", "undecided", "unknown"})
_SAME_SUBJECT = 0.8
_SPOKEN_LIMIT, _SHOWN = 600, 80

_OPPOSITES = (
    ("on_", "off_"), ("allowed", "forbidden"), ("allowed", "prohibited"), ("allowed", "banned"),
    ("required", "optional"), ("mandatory", "optional"), ("supported", "unsupported"), ("public", "private"),
    ("synchronous", "asynchronous"), ("open", "closed"), ("always", "never"), ("stateless", "stateful"),
    ("encrypted", "unencrypted"), ("signed", "unsigned"), ("safe", "unsafe"), ("mutable", "immutable"),
    ("blocking", "non-blocking"), ("manual", "automatic"), ("manually", "automatically"), ("active", "inactive"),
    ("valid", "invalid"), ("online", "offline"), ("present", "absent"), ("true", "false"), ("sync", "async"),
    ("keeps", "drops"), ("passes", "fails"),
)  # fmt: skip
_OPPOSITE_VERBS = (
    ("enable", "disable"), ("increase", "decrease"), ("raise", "lower"), ("accept", "reject"), ("include", "exclude"),
    ("activate", "deactivate"), ("lock", "unlock"),
)  # fmt: skip
_SWITCHED = re.compile(r"\b(on|off)(?=\s*(?:[.,;!]|\Z)|\s+(?:by|for|in|again|now|until)\b)")


def _forms(verb: str) -> tuple[str, ...]:
    root = verb.removesuffix("e")
    return verb, f"{verb}s", f"{root}ed", f"{root}ing"


def _opposites() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    pairs = [(one, other) for a, b in _OPPOSITE_VERBS for one in _forms(a) for other in _forms(b)]
    pairs += [("on_", each) for each in _forms("disable")] + [("off_", each) for each in _forms("enable")]
    for one, other in (*_OPPOSITES, *pairs):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


_OPPOSITE_OF = _opposites()
_NAME = r"((?:[\w.+#/-]+\s+){0,2}?[\w.+#/-]+(?:\s+v?\d[\w.]*)?)"
_SLOT = r"(?:\s+(?:for|as|in|on)\s+([^.,;:()]{2,80}))?"
_TAIL = (
    r"(?=\s*(?:[.,;:()!]|$|\s(?:because|since|so|now|instead|rather|to|from|and|at|by|with|when|which|"
    r"today|yesterday)\b))"
)
_USES = re.compile(
    r"\b(?:we|i|they|team|project|service|it)\s+"
    r"(?:(?:now|currently|finally|will|have|are|both|all|have now|decided to|agreed to)\s+)?"
    r"(?:use|uses|run|runs|run on|runs on|are on|is on|moved to|switched to|migrated to|upgraded to|moved over to|"
    r"chose|picked|selected|go with|went with|going with|stay on|staying on|stay with|standardised on|standardized on)"
    rf"\s+(?:the\s+)?{_NAME}{_SLOT}{_TAIL}"
)
_STATE = re.compile(
    r"^(?:the\s+|our\s+|a\s+)?([\w' /-]{2,80}?)\s+(?:is|are|is now|are now|was changed to|is set to|defaults to|"
    r"default to|was set to|is limited to|lives in|live in|lives at|is called|expires after|expire after|runs on|"
    r"run on|equals|is stored in|are stored in|is kept in|are kept in|is kept for|are kept for|is owned by|belongs to)"
    r"\s+(.{1,80}?)[.!\s]*$"
)
_VALUE = re.compile(r"~?\d[\d.,]*\s*[a-zµ%]*|v\d[\w.]*")
_LOOSE = re.compile(
    r"\b(?:also|too|both|or|used to|sometimes|usually|often|partly|some|except|mostly|almost|about|was|were|had)\b"
)


def contradicts(new: str, old: str) -> str | None:
    """Return why `new` and `old` cannot both hold; `None` if that is not plain."""
    old_ones = list(islice(_spoken(old), _SENTENCES))
    for ours in islice(_spoken(new), _SENTENCES):
        for theirs in old_ones if ours not in old_ones else ():
            if reason := _between(ours, theirs):
                return reason
    return None


def _spoken(text: str) -> Iterable[Stated]:
    for block in _BLOCK.split(text[:20_000]):
        for start, end in sentences(block):
            part = stated(block[start:end].strip())
            if part.context in UNSETTLED:
                continue
            if 0 < len(part.text) <= _SPOKEN_LIMIT and not signals(mask(part.text)) & _OPEN:
                yield Stated(" ".join(part.text.split()), is_rejected=part.is_rejected)


def _between(ours: Stated, theirs: Stated) -> str | None:
    new, old, one, other = ours.text, theirs.text, terms(ours.text), terms(theirs.text)
    shared = one.stems & other.stems
    if ours.is_rejected != theirs.is_rejected:
        said = "One says what the other rejects" if similarity(one, other) >= _SAME_SENTENCE else ""
    elif ours.is_rejected or not shared or _LOOSE.search(new.lower()) or _LOOSE.search(old.lower()):
        return None
    elif reason := _other_choice(new, old) or _other_value(new, old) or _opposite(new, old):
        return reason
    else:
        is_negation = one.negated != other.negated and one.numbers == other.numbers and len(shared) >= 2
        is_same = overlap(one.stems, other.stems) >= _SAME_SENTENCE
        said = "One says the opposite of the other" if is_negation and is_same else ""
    return f"{said}: “{one_line(new, _SHOWN)}” and “{one_line(old, _SHOWN)}”." if said else None


def _opposite(new: str, old: str) -> str | None:
    ours, theirs = (re.findall(r"[\w'-]+", _SWITCHED.sub(r"\1_", text.lower())) for text in (new, old))
    pairs = [(a, b) for a in ours for b in _OPPOSITE_OF.get(a, set()) & set(theirs)]
    if len(pairs) != 1:
        return None
    mine, yours = pairs[0]
    if mine in theirs or yours in ours:
        return None
    one, other = (terms(" ".join(word for word in words if word not in pairs[0])) for words in (ours, theirs))
    same = one.stems and overlap(one.stems, other.stems) >= _SAME_SUBJECT
    if same and one.numbers == other.numbers and one.negated == other.negated:
        return f"“{mine.rstrip('_')}” is the opposite of “{yours.rstrip('_')}”, said of the same thing."
    return None


def _other_value(new: str, old: str) -> str | None:
    mine, yours = _STATE.match(lower(new)), _STATE.match(lower(old))
    if not mine or not yours:
        return None
    subject, others = terms(mine[1]), terms(yours[1])
    if not subject.stems or subject.stems != others.stems or subject.numbers != others.numbers:
        return None
    values = [_VALUE.findall(match[2]) for match in (mine, yours)]
    if len(values[0]) == len(values[1]) == 1 and _plain(values[0][0]) != _plain(values[1][0]):
        rests = [terms(_VALUE.sub(" ", match[2])).stems for match in (mine, yours)]
        if rests[0] == rests[1] and _unit(values[0][0]) == _unit(values[1][0]):
            value, before, what = _said(new, mine, 2), _said(old, yours, 2), _said(new, mine, 1)
            return f"“{value}” is another value than “{before}” for “{what}”."
    return None


def _said(text: str, match: re.Match[str], group: int) -> str:
    return text[match.start(group) : match.end(group)].rstrip(" .")


def _plain(value: str) -> str:
    return re.sub(r"[\s,~v]", "", value).rstrip(".")


def _unit(value: str) -> str:
    unit = re.sub(r"[\d.,\s~]", "", value)
    return {"sec": "s", "seconds": "s", "second": "s", "minutes": "min", "minute": "min", "percent": "%"}.get(
        unit, unit
    )


def _other_choice(new: str, old: str) -> str | None:
    mine, yours = _USES.search(lower(new)), _USES.search(lower(old))
    if not mine or not yours or terms(new).negated or terms(old).negated:
        return None
    (name, version), (old_name, old_version) = (_version(match[1]) for match in (mine, yours))
    purpose, old_purpose = (_stems(match[2]) for match in (mine, yours))
    if name == old_name and version and old_version and version != old_version and purpose == old_purpose:
        return f"“{_said(new, mine, 1)}” takes the place of “{_said(old, yours, 1)}”."
    if name != old_name and purpose and purpose == old_purpose and not _stems(name) & _stems(old_name):
        return f"“{_said(new, mine, 1)}” instead of “{_said(old, yours, 1)}” for “{_said(new, mine, 2)}”."
    return None


def _version(name: str) -> tuple[str, str]:
    words = name.split()
    if len(words) > 1 and re.fullmatch(r"v?\d[\w.]*", words[-1]):
        return " ".join(words[:-1]), words[-1].lstrip("v").rstrip(".")
    return name, ""


def _stems(text: str | None) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"[\w-]+", text or "") if word not in STOP_WORDS)
