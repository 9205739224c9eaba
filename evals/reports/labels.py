"""Words of a chart in lines that fit: an SVG neither wraps nor says how wide its text is."""

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

_EM = {"narrow": 0.34, "upper": 0.74, "broad": 0.95, "wide": 1.05, "other": 0.61}
"""Parts of the size of the type, on the wide side of what sans-serif fonts have."""


def width(words: str, size: float) -> float:
    """Estimate how wide a line is in type of this size; at least what common fonts take."""
    return size * sum(_em(character) for character in words)


def _em(character: str) -> float:
    if combining(character):
        return 0.0
    if east_asian_width(character) in "WF":
        return _EM["wide"]
    if character in "iljtfrI.,:;'|!()[]- ":
        return _EM["narrow"]
    if character in "mwMW@%":
        return _EM["broad"]
    return _EM["upper"] if character.isupper() else _EM["other"]


def wrapped(words: str, most: float, size: float) -> list[str]:
    """Break words into lines of at most this width, and a word in itself where it is longer. Nothing is left out."""
    lines, line = [], ""
    for word in words.split():
        longer = f"{line} {word}".strip()
        if width(longer, size) <= most:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _pieces(word, most, size)
        lines += whole
    return [*lines, line]


def _pieces(word: str, most: float, size: float) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and width(pieces[-1] + character, size) > most:
            pieces.append("")
        pieces[-1] += character
    return pieces


def column(labels: Sequence[str], size: float, narrowest: float, widest: float) -> float:
    """Say how wide a column has to be so that its labels stand in one line, within these bounds."""
    return min(max([narrowest, *(width(label, size) for label in labels)]), widest)


def plain(text: str) -> str:
    """Leave out what would steer a terminal, or turn the order of what is read around."""
    return "".join(each for each in text if each.isprintable() or each.isspace())
