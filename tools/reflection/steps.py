"""Steps that stand in one line: “Steps: 1. Stop it. 2. Start it.”, “To release: tag it; push the tag”. Pure."""

import re
from collections.abc import Iterator, Sequence

from tools.reflection.judging import gives_order
from tools.reflection.phrases import mask, words_of
from tools.reflection.sentences import sentences
from tools.reflection.signals import IMPERATIVES
from tools.reflection.wordlist import word_set

Span = tuple[int, int]

STEPS_LIMIT = 2_000
"""Characters of all steps together; what is longer is no line of steps."""
STEP_LIMIT = 400
"""Characters in which the number of the next step is looked for."""
_MOST_STEPS = 30
_LEAD = re.compile(
    r"[*_]{0,2}(?:(steps|procedure|runbook|recipe|workaround|instructions)|(?:how |in order )?to +(\w+))\b"
    r"[^:;.?!\n]{0,80}:[*_]{0,2}[ \t]+(?=\S)",
    re.IGNORECASE,
)
_AGENDA = word_set("do be discuss decide check try ask clarify talk follow review note remember consider buy come")
"""What follows “to” where things to do are listed, and no way to do one."""
_SEPARATOR = re.compile(r";|→|->")


def steps_in(text: str) -> Iterator[Span]:
    """Yield where lines of steps begin and end in a block, with the words that lead to them; they never overlap.

    Numbered steps need a colon before them. Of others, separated by semicolons or arrows, most must give an order,
    unless a word like “steps” announces them.
    """
    cut = list(sentences(text))
    after = 0
    for start, end in cut:
        lead = _LEAD.match(text, start) if start >= after else None
        if lead is None or (lead[2] or "").lower() in _AGENDA:
            continue
        stop = _numbered(text, lead.end(), cut)
        if stop is None and _listed(text[lead.end() : end], is_announced=lead[1] is not None):
            stop = end
        if stop is not None and stop - start <= STEPS_LIMIT and text[stop - 1] != "?":
            yield start, stop
            after = stop


def _numbered(text: str, start: int, cut: Sequence[Span]) -> int | None:
    """Where the last of the numbered steps ends that begin at a place; None for fewer than two."""
    last, number = start, 1
    while number <= _MOST_STEPS:
        begin = re.compile(rf"(?<=[\s;,])\(?{number}[.)][ \t]+(?=\S)")
        found = begin.search(text, last, last + STEP_LIMIT) if number > 1 else begin.match(text, last)
        if found is None:
            break
        last, number = found.end(), number + 1
    return next((end for _, end in cut if end > last), None) if number > 2 else None


def _listed(steps: str, *, is_announced: bool) -> bool:
    parts = [part.strip() for part in _SEPARATOR.split(steps) if part.strip(" .")]
    orders = [_is_order(part) for part in parts[:_MOST_STEPS]]
    return len(parts) > 1 and (is_announced or (orders[0] and 2 * sum(orders) >= len(orders)))


def _is_order(step: str) -> bool:
    words = words_of(mask(step[:80]))
    words = words[1:] if words[:1] in (["then"], ["and"], ["finally"]) else words
    return gives_order(step[:80]) or (len(words) > 0 and words[0] in IMPERATIVES)
