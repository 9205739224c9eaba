"""Excerpts: cut a text at the end of a sentence or line, from its start or around a match."""

from collections.abc import Iterator

from tools.reflecting.reflection.layout import sentences

MORE = " …"
"""Ellipsis; counts as part of the length."""
BEFORE = "… "
LEAST_KEPT = 0.5
"""Least share filled by whole sentences; else the cut is after a word."""
LOOK_BACK = 300
_MARKS = ".!?…\u3002\uff01\uff1f"


def excerpt(text: str, limit: int) -> str:
    """Return the beginning of a text in at most `limit` characters (at least 2), cut at a sentence, line or word."""
    text = text.strip()
    if len(text) <= limit:
        return text
    room = limit - len(MORE)
    least = int(LEAST_KEPT * room)
    end = max((least + end for end in _ends(text[least : room + 1]) if least + end <= room), default=0)
    if not end:
        blank = text[: room + 1].rstrip().rfind(" ")
        end = blank if blank >= least else room
    return text[:end].rstrip() + MORE


def excerpt_around(text: str, start: int, limit: int) -> str:
    """Return at most `limit` characters around `start`, from the beginning if it fits."""
    if len(text.strip()) <= limit or start < limit // 2:
        return excerpt(text, limit)
    window = text[max(0, start - LOOK_BACK) : start]
    begin = start - len(window) + max((end for end in _ends(window + " ")), default=len(window))
    return BEFORE + excerpt(text[begin:], limit - len(BEFORE))


def _ends(text: str) -> Iterator[int]:
    spans = list(sentences(text))
    for place, (_, end) in enumerate(spans):
        if place < len(spans) - 1 or (text[end - 1] in _MARKS and text[end : end + 1].isspace()):
            yield end
    yield from (place for place, character in enumerate(text) if character == "\n")
