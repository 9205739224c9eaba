"""Statements without their labels, and their titles and tags."""

import re
from typing import NamedTuple

from tools.reflecting.reflection.finding import TITLE_LIMIT, word_set
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


_MARKUP = re.compile(r"\*\*|__|`|^[#>\s]{1,12}|^\d{1,3}[.)] |\[([^\[\]\n]{1,120})\]\([^()\s]{1,400}\)")
_FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|but|yes|yeah|well|hm+|aha?|then|also)[,:]?\s+){1,3}|"
    r"(?:we|i|they|the team)\s+(?:have\s+)?(?:decided|agreed)\s+(?:that\s+|to\s+)?|(?:it\s+)?turn(?:s|"
    r"ed)\s+out\s+(?:that\s+)?|"
    r"(?:we|i)\s+(?:found|noticed|learned)\s+(?:out\s+)?that\s+|please\s+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:]\s|\s[–—-]\s|\s(?:because|since|so that|which)\s")


def title_of(content: str, *, is_rejected: bool = False) -> str:
    """Return a title of at most 120 characters, without markup, label and opening words.

    It is cut at a clause. “Rejected” stays, and is put in front if `is_rejected`.
    """
    text = " ".join(_MARKUP.sub(lambda found: found[1] or "", content[:600]).split())
    label = label_of(text)
    said_no = stated(text).is_rejected
    if label and label[1] < len(text) and not said_no:
        text = text[label[1] :]
    filler = _FILLER.match(text)
    text = text[filler.end() :] if filler and len(text) - filler.end() > 3 else text
    text = text.strip(" .;,:–—") or " ".join(content[:TITLE_LIMIT].split())
    if is_rejected and not said_no:
        text = f"{PREFIX}{text}"
    if len(text) > TITLE_LIMIT:
        text = _cut(text)
    return text[:1].upper() + text[1:] if text[:1].upper() != "ẞ" and len(text[:1].upper()) == 1 else text


def _cut(text: str) -> str:
    ends = [match.start() for match in _CLAUSE.finditer(text, 40, TITLE_LIMIT)]
    if ends:
        return text[: ends[-1]].rstrip(" ,;:")
    space = text.rfind(" ", 40, TITLE_LIMIT - 2)
    return text[: space if space > 0 else TITLE_LIMIT - 2].rstrip(" ,;:") + " …"
