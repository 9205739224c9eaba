"""Safe display text: no control, invisible or bidirectional characters."""

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_OTHERS = re.compile(r"[^\n -~]+")
_JOINERS = "\u200c\u200d"
"""Part of emoji and of Persian and Indic words."""
_BLANKS = re.compile(r"\s+")
_MARKS = 4
"""Combining marks on one character; more pile up over the lines above."""


def plain(text: str) -> str:
    text = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    "))
    return _OTHERS.sub(_shown, unicodedata.normalize("NFC", text))


def _shown(others: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in others[0]:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category == "Cs":
            kept.append("\N{REPLACEMENT CHARACTER}")
        elif category in ("Zl", "Zp") or character == "\N{NEXT LINE}":
            kept.append("\n")
        elif character in _JOINERS or (category[0] != "C" and marks <= _MARKS):
            kept.append(character)
    return "".join(kept)


def one_line(text: str, limit: int | None = None) -> str:
    """Return text as one line, cut at a word with an ellipsis beyond `limit`."""
    line = _BLANKS.sub(" ", plain(text)).strip()
    if limit is None or len(line) <= limit:
        return line
    head = line[: limit - 1]
    at = head.rfind(" ")
    head = (head[:at] if at > limit * 2 // 3 else head).rstrip(" ,;:(")
    # Half a code span would take what follows for code.
    if head.count("`") % 2:
        head = head[: head.rfind("`")].rstrip(" ,;:(")
    return f"{head}…"


def first_sentence(text: str) -> str:
    found = re.search(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)[.!?](?=\s+[^a-z\s])", text)
    return text[: found.end()] if found else text
