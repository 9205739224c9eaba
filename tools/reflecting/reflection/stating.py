"""Statements without their labels."""

import re
from typing import NamedTuple

from tools.reflecting.reflection.wordlist import word_set
from tools.reflecting.reflection.words import REJECTED, Context, label_of

_MARKS = re.compile(r"[ \t]*+(?:(?:[-+*•>#]++|[0-9]{1,3}[.)]|\[[ xX~-]?\])(?:[ \t]++|$))+")
_PLAIN = word_set(
    "decision decisions decided agreed agreement resolution verdict conclusion outcome finding fact learning lesson "
    "learned insight observation til note nb todo to-do action task fixme follow-up plan idea proposal suggestion "
    "thought question q rule claim"
) | {"lesson learned", "to do", "action item", "follow up", "open question"}
"""Labels that name a kind and no subject."""
_SAID_NO = re.compile(r"(?i:\b(?:not|rejected|vetoed|declined|dropped|discarded|abandoned|won'?t)\b)")
_WORDS_OF = re.compile(r"[^\W\d_][\w' -]*")
UNSETTLED: frozenset[Context | None] = frozenset({"idea", "task", "plan", "mute", "artifact"})
PREFIX = "Rejected: "


class Stated(NamedTuple):
    text: str
    context: Context | None = None
    is_rejected: bool = False


def stated(text: str, context: Context | None = None) -> Stated:
    """Read a statement; a label overrides `context`."""
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
    if one is None or other is None:
        return (one or other) in UNSETTLED
    return one != other


def as_rejected(content: str) -> str:
    return content if stated(content).is_rejected else f"{PREFIX}{content}"


def as_said(title: str, content: str) -> str:
    return as_rejected(content) if stated(title).is_rejected else content
