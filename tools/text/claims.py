"""Claim check: numbers and names of a text must occur in its evidence. Pure."""

import re
from collections.abc import Iterable, Iterator

from tools.text.inline import code_words
from tools.text.plain import one_line

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*")
_ANY_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FROM_TWO = "two three four five six seven eight nine ten eleven twelve"
_SPELLED = {
    **{word: str(number) for number, word in enumerate(_FROM_TWO.split(), start=2)},
    **dict.fromkeys(("twice", "double", "doubled", "half", "halved"), "2"),
    **dict.fromkeys(("triple", "tripled"), "3"),
}
_CAPITALISED = re.compile(r"(?<![\w`])[A-Z][\w+#-]*(?:\.[\w+#-]+)*")
_MIXED = re.compile(r"(?<![\w`.])[a-z]+[A-Z][\w]*")
_GERMAN_FUNCTION_WORDS = """
der die das den dem des ein eine einen einem einer und oder ist sind war wird werden wurde nicht für mit auf von zu zum
zur im am als auch bei nach aus durch über unter wenn dass sich jetzt nun kann können
"""
_GERMAN = frozenset(_GERMAN_FUNCTION_WORDS.split())
LEAST_GERMAN_WORDS = 2
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|[(\"'“]\s*)$")
_COMMON = frozenset({"i", "a", "api", "apis", "cli", "if", "it", "ok"})
_SHORT = 3
"""Letters; shorter capitalised words must match whole words."""


def numbers_missing(text: str, evidence: str, also: Iterable[int] = ()) -> Iterator[str]:
    """Yield the numbers of a text, in digits or words, missing from its evidence and `also`."""
    known = {number.replace(",", "") for number in _ANY_NUMBER.findall(evidence)}
    words = set(re.findall(r"\w+", evidence.casefold()))
    known |= {digits for word, digits in _SPELLED.items() if word in words} | set(map(str, also))
    for number in _NUMBER.findall(text):
        if number.replace(",", "").rstrip(".") not in known:
            yield number
    for word in re.findall(r"\w+", text.casefold()):
        if word in _SPELLED and word not in words and _SPELLED[word] not in known:
            yield word


def names_missing(text: str, evidence: str) -> Iterator[str]:
    """Yield the names (code, mixed case, inner capitals) missing from the evidence."""
    folded = " ".join(evidence.casefold().split())
    words = set(re.findall(r"\w+", folded))
    for name in dict.fromkeys(_names(one_line(text))):
        bare = name.split("(", 1)[0].strip("`'\" ").rstrip(".,:;").casefold() or name.casefold()
        forms = {bare, bare.removesuffix("s"), bare.removesuffix("'s"), bare.replace("-", " ")}
        found = any(form in words if len(form) < _SHORT else form in folded for form in forms if form)
        if any(map(str.isalnum, bare)) and bare not in _COMMON and not found:
            yield name


def _names(text: str) -> Iterator[str]:
    yield from code_words(text)
    prose = re.sub(r"`[^`]*`", lambda found: " " * len(found[0]), text)
    yield from (found[0] for found in _MIXED.finditer(prose))
    nouns_are_capitalised = len(_GERMAN & set(prose.casefold().split())) >= LEAST_GERMAN_WORDS
    for found in _CAPITALISED.finditer(prose):
        word = found[0]
        has_more = any(character.isupper() or character.isdigit() for character in word[1:])
        if has_more or not (nouns_are_capitalised or _SENTENCE_START.search(prose[: found.start()])):
            yield word
