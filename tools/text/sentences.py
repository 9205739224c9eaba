"""Sentences of a text, as ranges of characters. Linear."""

import re


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ABBREVIATIONS = word_set(
    """
    adm al approx art asst avg ca cf ch col cont dept dir dr ed eds eg eq est et ex excl ext fa fig figs gen hon
    ie incl jr lt max mgr min misc mr mrs mt nr obs op orig pers pl pp prof ref refs reg resp rev sec sen sg sgt
    sr st std tab tel transl univ viz vol vs
    """
)
_BEFORE_NUMBER = word_set("art ch fig figs no nos nr p pp par sec vol v")
_END_BEFORE_CAPITAL = word_set(
    """
    etc inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat
    sun a.m p.m e.u u.s u.k
    """
)

# Possessive, so that a long run of marks is read once.
_END = re.compile("(?:(?<![.!?…])[.!?…]++[\"'”’»)\\]*_`]*+(?=\\s|$)|[\u3002\uff01\uff1f]+[」』”]*)")
_WHOLE = re.compile(
    r"`[^`\n]{1,300}`|https?://[^\s<>\"]{1,2000}|\"[^\"\n]{1,240}\"|“[^“”\n]{1,240}”|«[^«»\n]{1,240}»|\([^()]{1,300}\)"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘*_/]*\Z")
_LOOK_BACK = 24
_CLOSERS = '"”’»)'


def sentences(text: str) -> list[tuple[int, int]]:
    whole = [match.span() for match in _WHOLE.finditer(text)]
    start, index, found = 0, 0, list[tuple[int, int]]()
    for at, end in (match.span() for match in _END.finditer(text)):
        while index < len(whole) and whole[index][1] <= at:
            index += 1
        inside = index < len(whole) and whole[index][0] <= at and end < whole[index][1]
        if not inside and end > start and _ends_here(text, start, at, end):
            found.append(trimmed(text, start, end, ";,"))
            start = end
    found.append(trimmed(text, start, len(text), ";,"))
    return [(first, last) for first, last in found if first < last]


def _ends_here(text: str, start: int, at: int, end: int) -> bool:
    if text[at] != "." or end >= len(text):
        return True
    following = text[end : end + 12].lstrip()[:1]
    if text[end - 1] in _CLOSERS and following.islower():
        return False
    if text.startswith("...", at):
        return not following.islower()
    found = _WORD_BEFORE.search(text[max(start, at - _LOOK_BACK) : at])
    word = (found[0] if found else "").lower()
    return not _is_abbreviated(text, start, at, word, following)


def _is_abbreviated(text: str, start: int, at: int, word: str, following: str) -> bool:
    if word in _BEFORE_NUMBER and following.isdigit():
        return True
    if word in _END_BEFORE_CAPITAL:
        return not following.isupper()
    if word in _ABBREVIATIONS or word in ("e.g", "i.e", "z.b", "d.h", "w.r.t"):
        return True
    before = text[max(start, at - _LOOK_BACK) : at - len(word)].strip()
    if word.isdigit():
        return not before
    return len(word) == 1 and text[at - 1].isupper() and not before[-1:].isdigit()


def trimmed(text: str, start: int, end: int, marks: str = "") -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in marks):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
