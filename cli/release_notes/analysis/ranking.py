"""Impact of a change on users, from 0 to 1."""

import math
import re

from cli.release_notes.analysis.breaking import names_in
from cli.release_notes.analysis.drafts import Draft
from cli.release_notes.analysis.paths import is_published
from cli.release_notes.analysis.wording import sounds_internal
from cli.release_notes.facts import ChangeKind

_BASE: dict[ChangeKind, float] = {
    "security": 0.62,
    "feature": 0.58,
    "removal": 0.46,
    "deprecation": 0.46,
    "performance": 0.44,
    "improvement": 0.40,
    "fix": 0.32,
    "other": 0.16,
    "dependency": 0.12,
    "documentation": 0.10,
    "internal": 0.05,
}
_SMALL = re.compile(
    r"\b(?:typos?|minor|small|tweak\w*|slight\w*|tiny|nit|cosmetic|follow[- ]?up|missing (?:import|link|space"
    r"|entry|await)"
    r"|error messages?|log (?:level|message)s?|bunch of|various|some more|polish|again|another|oops|parameter name)\b",
    re.I,
)
_FULL = 0.9
_SOURCE_WEIGHT, _MOST_FILES = 0.07, 40
_USER_KINDS = frozenset({"feature", "improvement", "performance", "security", "removal", "deprecation", "fix", "other"})


def weigh(made: Draft) -> float:
    """Return the impact of a draft: the base of its kind plus its evidence."""
    evidence = {**_from_files(made), **_from_words(made), **made.evidence}
    if made.breaking:
        evidence["breaking"] = 0.40 if made.declared else 0.25
    return round(_bounded(_BASE[made.kind] + sum(evidence.values())), 4)


def _bounded(total: float) -> float:
    if total <= _FULL:
        return max(0.0, total)
    return _FULL + (1 - _FULL) * (1 - math.exp((_FULL - total) / 0.2))


def _from_files(made: Draft) -> dict[str, float]:
    found: dict[str, float] = {}
    if made.kind not in _USER_KINDS or not made.files:
        return found
    published = [path for path in dict.fromkeys(made.paths) if is_published(path)]
    if not published:
        return {"nothing published": -0.12}
    if made.files.get("changelog"):
        found["changelog touched"] = 0.08
    if made.files.get("documentation"):
        found["documented"] = 0.06
    found["size"] = _SOURCE_WEIGHT * min(1.0, math.log1p(len(published)) / math.log1p(_MOST_FILES))
    fresh = {path for entry in made.entries for path in entry.touched.added if is_published(path)}
    if fresh and made.kind in ("feature", "improvement"):
        found["new files"] = 0.05
    if all("/_" in path or path.startswith("_") for path in published):
        found["only private files"] = -0.02
    return found


def _from_words(made: Draft) -> dict[str, float]:
    text, found = made.message.text, {}
    if made.kind not in _USER_KINDS:
        return {}
    if made.message.is_chore or (sounds_internal(text) and made.kind != "security"):
        found["internal words"] = -0.16
    if _SMALL.search(text):
        found["small"] = -0.10
    if made.entries[0].commit.subject.rstrip().endswith(":"):
        found["only a heading"] = -0.25
    if names_in(text):
        found["names something"] = 0.03
    if made.message.issues or made.message.pull_request:
        found["discussed"] = 0.02
    return found
