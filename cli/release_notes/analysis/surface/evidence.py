"""Evidence from the comparison for and against the messages."""

from collections.abc import Sequence

from cli.release_notes.analysis.breaking import names_in, takes_away
from cli.release_notes.analysis.drafts import Draft
from cli.release_notes.analysis.surface.compare import Compared
from cli.release_notes.analysis.surface.ends import Tree
from cli.release_notes.git.objects import CommitObject

_MOST_BYTES, _MOST_PATHS = 2_000_000, 60
_INTERFACES = frozenset({"api", "command", "flag", "setting"})


def surface_evidence(drafts: Sequence[Draft], compared: Compared, older: Tree) -> None:
    """Raise drafts whose commits added an interface; clear removals of what the range added."""
    interfaces = [one for one in compared.surface if one.kind in _INTERFACES]
    added = {sha for one in interfaces if one.change == "added" for sha in one.commits}
    for made in drafts:
        if made.kind in ("feature", "improvement", "other") and any(entry.sha in added for entry in made.entries):
            made.evidence["new interface"] = 0.06
            made.kind = "feature" if made.kind == "other" else made.kind
        if made.breaking and not made.declared and takes_away(made.message.text) and _came_within(made, older):
            made.breaking = False
            made.kind = "internal"


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
