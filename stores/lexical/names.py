"""Which tokens name one thing by a number: tickets, errors, versions, references, addresses of machines. Pure.

Amounts, days, times, ranges and plain numbers are none. What is left out is no harm: it counts as words do.
"""

import re
from collections.abc import Iterable

_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DATE = re.compile(
    rf"(?<![0-9])(?:{_YEAR}[-_./]{_MONTH}(?:[-_./]{_DAY})?|{_DAY}[-_./]{_MONTH}[-_./](?:{_YEAR}|[0-9]{{2}})"
    rf"|{_MONTH}[-_./](?:{_DAY}[-_./])?{_YEAR}|{_YEAR}[-_./]{_YEAR}|{_YEAR})(?![0-9])"
)
"""A day, a month, a year, or two years, however they are written with digits."""
_SPOKEN = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|week|q)[a-z]*")
_MONEY = re.compile(r"(?:us|eur|usd|gbp|chf|sek|nok|dkk|pln|jpy|inr|cad|aud)[0-9.]+")
_NAMED = (
    re.compile(r"#[0-9]{2,}"),
    re.compile(r"[a-z]{1,12}[-_]?[0-9]{3,}"),
    re.compile(r"v[0-9]+(?:\.[0-9]+){1,3}(?:[-.]?(?:rc|alpha|beta|dev|post|a|b)[-.]?[0-9]*)?"),
    re.compile(r"[a-z]{2,12}-?[0-9]+(?:\.[0-9]+)+"),
    re.compile(r"[0-9]+(?:\.[0-9]+){2,3}"),
    re.compile(r"0x[0-9a-f]{4,16}"),
    re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}"),
    re.compile(r"[0-9]{5,}(?<!00)"),
)
"""With a mark; letters and three digits; versions; addresses; numbers of machines; hashes; long numbers, not round."""
_CODE = re.compile(r"[a-z0-9]+(?:[-_./:][a-z0-9]+)+")
_SEPARATOR = re.compile(r"[-_./:]")
_CHANGE = re.compile(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_FEWEST_DIGITS, _FEWEST_BARE, _FEWEST_CHANGES = 3, 7, 3


def numbered(tokens: Iterable[str]) -> list[str]:
    """Return those of some lower-cased tokens that name something by a number: `e4031`, `ws-2026-14`, `gv8k2m`."""
    return [token for token in tokens if is_numbered(token)]


def is_numbered(token: str) -> bool:
    """Whether a lower-cased token names something by a number."""
    bare = token.removeprefix("#")
    if not any(map(str.isdigit, bare)) or not bare.isascii() or _is_date(bare) or _MONEY.fullmatch(bare):
        return False
    return any(pattern.fullmatch(token) or pattern.fullmatch(bare) for pattern in _NAMED) or _is_code(bare)


def _is_date(token: str) -> bool:
    """Whether it is a day, a month or a year, with a word before it or none: `2026-05-04`, `mid-2023`, `backup2023`."""
    return _DATE.fullmatch(re.sub(r"^[a-z]{2,}[-_]?", "", token)) is not None


def _is_code(token: str) -> bool:
    """Whether its letters and digits are mixed as in no word: `gv8k2m`, `l-26/40773`, `77-20418`, `node_7`."""
    if token.isalnum():
        return token[0].isalpha() and len(_CHANGE.findall(token)) >= _FEWEST_CHANGES
    if not _CODE.fullmatch(token):
        return False
    chunks = _SEPARATOR.split(token)
    if not any(character.isalpha() for character in token):
        digits = sum(map(len, chunks))
        is_range = all(chunk.endswith("0") for chunk in chunks)
        return ":" not in token and digits >= _FEWEST_BARE and not is_range and "." not in token
    # `cd40/cd4` are two things.
    is_several = not all(part.isdigit() for part in token.split("/")[1:])
    if is_several or not chunks[0][0].isalpha() or _SPOKEN.fullmatch(chunks[0]):
        return False
    left = [chunk for chunk in _SEPARATOR.split(_DATE.sub("", token)) if any(map(str.isdigit, chunk))]
    digits = sum(map(str.isdigit, "".join(left)))
    is_marked = "_" in token or any(chunk[0] == "0" and len(chunk) > 1 for chunk in left)
    return digits >= _FEWEST_DIGITS or (digits > 1 and len(chunks) > 2) or (digits > 0 and is_marked)
