"""Names with a number: tickets, errors, versions, references, addresses. Pure.

Amounts, days, times, ranges and plain numbers are none.
"""

import re
from collections.abc import Sequence

from stores.lexical.analysis import written_tokens

_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DATE = re.compile(
    rf"(?<![0-9])(?:{_YEAR}[-_./]{_MONTH}(?:[-_./]{_DAY})?|{_DAY}[-_./]{_MONTH}[-_./](?:{_YEAR}|[0-9]{{2}})"
    rf"|{_MONTH}[-_./](?:{_DAY}[-_./])?{_YEAR}|{_YEAR}[-_./]{_YEAR}|{_YEAR})(?![0-9])"
)
_SPOKEN = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|week|q)[a-z]*")
_DAY_IN_A_ROW = re.compile(rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_AMOUNT = re.compile(
    r"(?:us|eur|usd|gbp|chf|sek|nok|dkk|pln|jpy|inr|cad|aud|hkd|nzd|sgd|czk|huf|brl|mxn|zar|kr"
    r"|top|over|under|above|below|about|around|ca|circa|approx|max|min|first|last|next|past|pre|post|sub|utc|gmt"
    r")[-_.]?[0-9.]+"
    r"|[1-9][0-9]{0,2}(?:[._][0-9]{3})*[._]000"
    r"|p(?:[0-9]+[ymwd])*(?:t(?:[0-9]+[hms])+)?"
)
"""Amounts, thousands with separators, and ISO 8601 durations."""
_NAMED = (
    re.compile(r"#[0-9]{2,}"),
    re.compile(r"[a-z]{1,12}[-_]?[0-9]{3,}"),  # e4031, eng-104
    re.compile(r"v[0-9]+(?:\.[0-9]+){1,3}(?:[-.]?(?:rc|alpha|beta|dev|post|a|b)[-.]?[0-9]*)?"),
    re.compile(r"[a-z]{2,12}-?[0-9]+(?:\.[0-9]+)+"),  # tls1.3
    re.compile(r"[0-9]+(?:\.[0-9]+){2,3}"),  # versions without a letter, addresses of machines
    re.compile(r"0x[0-9a-f]{4,16}"),
    re.compile(r"(?=[a-f]*[0-9][a-f]*[0-9])(?![0-9]+[a-f]+$)(?=[0-9]*[a-f])[0-9a-f]{7,64}"),  # hashes
    re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # UUIDs
    re.compile(r"[0-9]{5,}(?<!00)"),  # long numbers that are not round
)
_WORD_BEFORE = re.compile(r"^[a-z]{2,}[-_]?")
_CODE = re.compile(r"[a-z0-9]+(?:[-_./][a-z0-9]+)+")
_SEPARATOR = re.compile(r"[-_./]")
_CHANGE = re.compile(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_FEWEST_DIGITS, _FEWEST_BARE, _FEWEST_CHANGES, _SHORTEST_MIXED = 3, 7, 3, 6
_LONGEST_FIRST = 3
"""Digits; more of them before a separator begin a range."""
_DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-") | {"\u2014": " ", "\u00ad": None, "\u200b": None}
)
_AROUND = "_~@+$"
_HANGS_BEHIND = re.compile(r"(?<=[0-9])(?:-[a-z]{3,})*s?$")
"""`iso-27001-certified`, `h100s`."""
MOST_READ = 512


def numbered(text: str, tokens: Sequence[str] | None = None) -> list[str]:
    """Return names such as `e4031`, `ws-2026-14`, `gv8k2m`, lower-cased and distinct. Any dash is a hyphen."""
    plain = text.translate(_DASHES)
    if tokens is None or plain != text:
        tokens = written_tokens(plain)
    bare = (_HANGS_BEHIND.sub("", token.strip(_AROUND)) for token in tokens[:MOST_READ])
    return list(dict.fromkeys(filter(is_numbered, bare)))


def is_numbered(token: str) -> bool:
    bare = token.removeprefix("#")
    if not any(map(str.isdigit, bare)) or not bare.isascii():
        return False
    day = _WORD_BEFORE.sub("", bare)
    if _DATE.fullmatch(day) or is_day(day) or _AMOUNT.fullmatch(bare):
        return False
    if any(pattern.fullmatch(token) or pattern.fullmatch(bare) for pattern in _NAMED):
        return True
    if bare.isalnum():
        # No word alternates letters and digits like `gv8k2m`.
        changes = len(_CHANGE.findall(bare))
        return bare[0].isalpha() and changes >= _FEWEST_CHANGES and len(bare) >= _SHORTEST_MIXED
    if not _CODE.fullmatch(bare):
        return False
    return _is_code(bare) if any(map(str.isalpha, bare)) else _is_long(bare)


def is_day(word: str) -> bool:
    return _DAY_IN_A_ROW.fullmatch(word) is not None


def is_year(word: str) -> bool:
    return re.fullmatch(_YEAR, word) is not None


def _is_long(token: str) -> bool:
    chunks = _SEPARATOR.split(token)
    first, *_, last = chunks
    rises = len(chunks) == 2 and int(first) < int(last)
    is_even = len(first) == len(last) or (len(first) > _LONGEST_FIRST and first[0] != "0")
    is_range = (rises and is_even) or all(chunk.endswith("0") for chunk in chunks)
    return sum(map(len, chunks)) >= _FEWEST_BARE and not is_range and "." not in token


def _is_code(token: str) -> bool:
    chunks = _SEPARATOR.split(token)
    # `cd40/cd4` are two things.
    is_several = not all(part.isdigit() for part in token.split("/")[1:])
    if is_several or not chunks[0][0].isalpha() or _SPOKEN.fullmatch(chunks[0]):
        return False
    left = [chunk for chunk in _SEPARATOR.split(_DATE.sub("", token)) if any(map(str.isdigit, chunk))]
    digits = sum(map(str.isdigit, "".join(left)))
    is_marked = "_" in token or any(chunk[0] == "0" and len(chunk) > 1 for chunk in left)
    return digits >= _FEWEST_DIGITS or (digits > 1 and len(chunks) > 2) or (digits > 0 and is_marked)
