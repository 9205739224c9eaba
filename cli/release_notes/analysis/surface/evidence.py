"""Evidence from the comparison for and against the messages."""

import re
from collections.abc import Sequence

from cli.release_notes.analysis.breaking import names_in, takes_away
from cli.release_notes.analysis.drafts import Draft
from cli.release_notes.analysis.surface.compare import Compared
from cli.release_notes.analysis.surface.ends import Tree
from cli.release_notes.facts import SurfaceChange
from cli.release_notes.git.objects import CommitObject

_MOST_BYTES, _MOST_PATHS = 2_000_000, 60
_SEPARATOR = re.compile(r",(?![^(\[{]*[)\]}])")
_NAME = re.compile(r"\w+")
_INTERFACES = frozenset({"api", "command", "flag", "setting"})


def surface_evidence(drafts: Sequence[Draft], compared: Compared, older: Tree) -> None:
    """Raise drafts whose commits changed an interface; clear removals of what the range added."""
    added: set[str] = set()
    gone: dict[str, set[str]] = {}
    for one in compared.surface:
        for sha in one.commits if one.kind in _INTERFACES else ():
            if one.change == "added":
                added.add(sha)
            elif one.change in ("removed", "renamed") or _asks_more(one):
                gone.setdefault(sha, set()).add((one.before or one.name).partition("(")[0].rpartition(".")[2])
    for made in drafts:
        shas = {entry.sha for entry in made.entries}
        if shas & added:
            _offers_more(made)
        if made.breaking and not made.declared and takes_away(made.message.text) and _came_within(made, older):
            made.breaking = False
            made.kind = "internal"
        elif {name for sha in shas for name in gone.get(sha, ())}.intersection(names_in(made.message.text)):
            _offers_less(made)


def _asks_more(one: SurfaceChange) -> bool:
    if one.kind != "api" or one.change != "changed" or one.before is None:
        return False
    old, new = (_parameters(signature) for signature in (one.before, one.name))
    if old is None or new is None:
        return False
    return any(needed and not old.get(name, False) for name, needed in new.items()) or bool(old.keys() - new.keys())


def _parameters(signature: str) -> dict[str, bool] | None:
    _, opened, inside = signature.partition("(")
    if not opened or "*" in inside.replace("*, ", "") or "..." in inside:
        return None
    found: dict[str, bool] = {}
    for each in _SEPARATOR.split(inside.removesuffix(")")):
        name = _NAME.match(each.strip())
        if name:
            found[name[0]] = "=" not in each and "?" not in each
    return found


def _offers_more(made: Draft) -> None:
    if made.kind in ("feature", "improvement", "other"):
        made.evidence["new interface"] = 0.06
        made.kind = "feature" if made.kind == "other" else made.kind


def _offers_less(made: Draft) -> None:
    made.evidence["interface gone"] = 0.05
    if made.kind in ("removal", "improvement", "other"):
        made.breaking = True


def _came_within(made: Draft, older: Tree) -> bool:
    names = names_in(made.message.text)
    entry = made.entries[-1]
    parent = older.repository.get(entry.commit.parents[0]) if names and entry.commit.parents else None
    if not isinstance(parent, CommitObject):
        return False
    before = Tree(older.repository, parent, left=_MOST_BYTES)
    paths = made.paths[:_MOST_PATHS]
    found = [name for name in names if any(name in (before.read(path) or "") for path in paths)]
    return bool(found) and not any(name in (older.read(path) or "") for name in found for path in paths)
