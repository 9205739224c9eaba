"""Score documents against labels and cited records, independent of the product's checks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHORTEST = 12
"""Shorter pieces of a statement are not checked (characters)."""
_PIECES = re.compile(r"(?<=[.!?…])\s+|\s*…\s*")


@dataclass(frozen=True, slots=True)
class Drafted:
    cited: Sequence[str]
    """Keys of cited records."""
    supported: int
    statements: int
    gaps: frozenset[str]
    """Titles of unsupported sections."""
    by_section: Mapping[str, Sequence[str]]
    characters: int


def score(
    drafted: Drafted, must: frozenset[str], must_not: frozenset[str], off_topic: frozenset[str]
) -> dict[str, float]:
    cited = set(drafted.cited)
    return {
        "needed cited": len(must & cited) / len(must),
        "statements supported": drafted.supported / drafted.statements if drafted.statements else 1.0,
        "nothing wrong": float(not must_not & cited),
        "nothing off topic": float(not off_topic & cited),
    }


def borne_out(statements: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> tuple[int, int]:
    """Count the statements whose sentences all stand verbatim in cited records, and all statements."""
    flat = list(_flat(statements))
    return sum(_is_borne_out(each, texts) for each in flat), len(flat)


def _flat(statements: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in statements:
        yield each
        yield from _flat(each.get("related", ()))


def _is_borne_out(statement: Mapping[str, Any], texts: Mapping[str, str]) -> bool:
    evidence = [_plain(texts.get(each, "")) for each in statement["source_ids"]]
    said = [statement.get("name") or "", *_PIECES.split(statement["text"])]
    pieces = [piece for each in said if len(piece := _plain(each).rstrip(".")) >= SHORTEST]
    return bool(evidence) and all(any(piece in text for text in evidence) for piece in pieces)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
