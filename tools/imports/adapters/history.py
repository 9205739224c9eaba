"""Commits of a Git repository, on the first-parent line of HEAD. Imported late."""

from collections.abc import Iterator
from itertools import islice

import pygit2
from pygit2.enums import DiffOption, SortMode

from stores.records import JsonObject
from tools.imports.adapters.base import Item, imported, place_in
from tools.imports.adapters.values import moment
from tools.imports.files import SourceFile, decoded
from tools.imports.models import PlaceInSource, RecordToImport, SkippedPart

NAMES = 50
"""Changed files that are named."""
_ERRORS = (pygit2.GitError, KeyError, ValueError, OSError)


def history(file: SourceFile) -> Iterator[Item]:
    origin = place_in(file)
    try:
        repository = pygit2.Repository(str(file.path))
        walk = repository.walk(repository.head.target, SortMode.TOPOLOGICAL)
        walk.simplify_first_parent()
        line = [commit.id for commit in walk]
    except _ERRORS as error:
        yield SkippedPart(origin=origin, reason=f"Its history cannot be read: {error}.")
        return
    for sha in reversed(line):
        try:
            yield _episode(repository, repository[sha].peel(pygit2.Commit), origin)
        except _ERRORS as error:
            yield SkippedPart(origin=origin, reason=f"Commit {sha} cannot be read: {error}.")


def _episode(repository: pygit2.Repository, commit: pygit2.Commit, origin: PlaceInSource) -> RecordToImport:
    subject, _, body = decoded(commit.raw_message, commit.message_encoding).strip().partition("\n")
    paths, count = _changed(repository, commit)
    if count:
        more = [f"- and {count - len(paths)} more"] if count > len(paths) else []
        body = "\n".join([body.strip(), "", "Changed files:", *(f"- {path}" for path in paths), *more])
    author = commit.author
    name, date = decoded(author.raw_name), moment(author.time)
    metadata: JsonObject = {
        "occurred_at": date, "captured_at": date, "speaker": name, "participants": [name, decoded(author.raw_email)],
    }  # fmt: skip
    text = body.strip() or subject
    return imported(str(commit.id), subject, text, origin, entity_type="episode", metadata=metadata)


def _changed(repository: pygit2.Repository, commit: pygit2.Commit) -> tuple[list[str], int]:
    above = commit.parent_ids
    try:
        if above:
            before = repository[above[0]].peel(pygit2.Tree)
            diff = before.diff_to_tree(commit.tree, DiffOption.SKIP_BINARY_CHECK, 0, 0)
        elif repository.is_shallow:
            return [], 0
        else:
            diff = commit.tree.diff_to_tree(swap=True)
    except (pygit2.GitError, KeyError):  # Not fetched.
        return [], 0
    return [decoded(each.new_file.raw_path) for each in islice(diff.deltas, NAMES)], len(diff)
