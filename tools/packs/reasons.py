"""Explain in one sentence why an item is in a context pack."""

from tools.packs.facets import Facet
from tools.retrieval.ranking import HELD_WHOLLY, Candidate

NEAR, AKIN = 0.5, 0.3
"""Cosines of the built-in model; unrelated texts stay below the second."""
UNDER_WAY = {
    "doing": "The project is at work on it",
    "blocked": "It is work of the project that is blocked",
    "review": "It is work of the project that waits for review",
}


def reason(found: Candidate | None, facet: Facet, *, status: str = "", is_under_way: bool = False) -> str:
    """Return the sentence; `found` is None if only current work led to the item."""
    evidence = _evidence(found) if found is not None else ""
    if is_under_way:
        said = UNDER_WAY.get(status, "The project is at work on it")
        return f"{said}, and it {evidence}." if evidence else f"{said}."
    if not evidence:
        evidence = "is among the nearest records of its kind, though not near to the goal"
    if facet == "prior_art":
        return f"It was done before and {evidence}."
    return f"It {evidence}."


def _evidence(found: Candidate) -> str:
    words, meaning = _words(found), _meaning(found)
    if words and meaning:
        return f"{words} and is {meaning} to it in meaning"
    if words or meaning:
        return words or f"is {meaning} to the goal in meaning"
    if found.matches_dates:
        return "is of the days that the goal names"
    return "is linked to a record that matches the goal" if "graph" in found.ranks else ""


def _words(found: Candidate) -> str:
    if "lexical" not in found.ranks or found.coverage <= 0:
        return ""
    if found.coverage >= HELD_WHOLLY:
        return "holds every word of the goal"
    return "holds most of the goal's words" if found.coverage >= 0.5 else "shares words with the goal"


def _meaning(found: Candidate) -> str:
    if found.cosine is None or found.cosine < AKIN:
        return ""
    return "near" if found.cosine >= NEAR else "akin"
