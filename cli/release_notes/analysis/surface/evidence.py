"""Lets the comparison of both ends speak for and against what the messages say."""

import re
from collections.abc import Sequence

from cli.release_notes.analysis.breaking import names_in
from cli.release_notes.analysis.drafts import Draft
from cli.release_notes.analysis.surface.compare import Compared

_INTERFACES = frozenset({"api", "command", "flag", "setting"})


def surface_evidence(drafts: Sequence[Draft], compared: Compared) -> None:
    """Raise drafts whose commits changed an interface, and doubt breaks of what never was in the older end."""
    added: dict[str, int] = {}
    removed: dict[str, set[str]] = {}
    for one in compared.surface:
        for sha in one.commits if one.kind in _INTERFACES else ():
            if one.change == "added":
                added[sha] = added.get(sha, 0) + 1
            elif one.change in ("removed", "renamed"):
                removed.setdefault(sha, set()).update(re.split(r"[.(]", one.before or one.name))
    for made in drafts:
        shas = {entry.sha for entry in made.entries}
        if made.kind in ("feature", "improvement", "other") and any(sha in added for sha in shas):
            made.evidence["new interface"] = 0.06
            if made.kind == "other":
                made.kind = "feature"
        gone = {name for sha in shas for name in removed.get(sha, ())}
        named = {name.lstrip("-") for name in names_in(made.message.text)} | set(names_in(made.message.text))
        if gone & named:
            made.evidence["interface gone"] = 0.05
            if made.kind in ("removal", "improvement", "other") and not made.breaking:
                made.breaking = True
