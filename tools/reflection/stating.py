"""What a statement says beside the label in front of it, so that it can be held against others. Pure."""

import re
from typing import NamedTuple

from tools.reflection.wordlist import word_set
from tools.reflection.words import REJECTED, Context, label_of

_MARKS = re.compile(r"[ \t]*+(?:(?:[-+*•>#]++|[0-9]{1,3}[.)]|\[[ xX~-]?\])(?:[ \t]++|$))+")
_PLAIN = word_set(
    "decision decisions decided agreed agreement resolution verdict conclusion outcome finding fact learning lesson "
    "learned insight observation til note nb todo to-do action task fixme follow-up plan idea proposal suggestion "
    "thought question q rule claim"
) | {"lesson learned", "to do", "action item", "follow up", "open question"}
"""Labels that say what a statement is and nothing of what it is about; “fix for Safari” does."""
_SAID_NO = re.compile(r"(?i:\b(?:not|rejected|vetoed|declined|dropped|discarded|abandoned|won'?t)\b)")
_WORDS_OF = re.compile(r"[^\W\d_][\w' -]*")
UNSETTLED: frozenset[Context | None] = frozenset({"idea", "task", "plan", "mute", "artifact"})
"""What labels announce that is not so, or not yet."""
PREFIX = "Rejected: "
"""How a title says that something is not to be, where only a heading did."""


class Stated(NamedTuple):
    """A statement and what it is."""

    text: str
    """Without the marks of a list, and without the label where that says nothing of its own."""
    context: Context | None = None
    """What the label announces, or what its record is; None where neither is known."""
    is_rejected: bool = False
    """Whether it says what is not so, or not to be."""


def stated(text: str, context: Context | None = None) -> Stated:
    """Read a statement; `context` is what it is where no label says so."""
    mark = _MARKS.match(text)
    text = text[mark.end() :] if mark else text
    struck = text.startswith("~~")
    label = label_of(text)
    if label is None or label[1] >= len(text):
        return Stated(text, context, struck)
    announced, end = label
    word = _WORDS_OF.search(text[:end])
    is_plain = word is not None and word[0].strip().lower() in _PLAIN and "(" not in text[:end]
    is_rejected = announced == REJECTED or _SAID_NO.search(text[:end]) is not None
    return Stated(text[end:] if is_plain or is_rejected else text, announced, struck or is_rejected)


def differ(one: Context | None, other: Context | None) -> bool:
    """Whether statements of these kinds may say the same and not be the same: an idea is no decision."""
    if one is None or other is None:
        return (one or other) in UNSETTLED
    return one != other


def as_rejected(content: str) -> str:
    """Say of a statement that it is not to be, where it does not say so itself."""
    return content if stated(content).is_rejected else f"{PREFIX}{content}"


def as_said(title: str, content: str) -> str:
    """What a record states, with what only its title says of it: that it was rejected."""
    return as_rejected(content) if stated(title).is_rejected else content
