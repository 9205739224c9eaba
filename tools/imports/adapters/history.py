"""Commits of a Git repository, on the first-parent line of HEAD. Imported late."""

from collections.abc import Iterator
from itertools import islice

import pygit2
from pygit2.enums import DiffOption

from stores.records import JsonObject
from tools.imports.adapters.base import moment
from tools.imports.files import SourceFile, decoded
from tools.imports.records import ImportedRecord, Item, Origin, SkippedRecord

NAMES = 50
"""Changed files that are named."""
_ERRORS = (pygit2.GitError, KeyError, ValueError, OSError)


def history(file: SourceFile) -> Iterator[Item]:
    """Yield one episode for each commit, oldest first."""
    try:
        repository = pygit2.Repository(str(file.path))
        line, tags = _first_parents(repository), _tags(repository)
    except _ERRORS as error:
        yield SkippedRecord(Origin(file.name), f"Its history cannot be read: {error}.")
        return
    if not line:
        yield SkippedRecord(Origin(file.name), "HEAD has no commits.")
    for sha in reversed(line):
        try:
            yield _episode(repository, sha, tags.get(sha, []), Origin(file.name))
        except _ERRORS as error:
            yield SkippedRecord(Origin(file.name), f"Commit {sha} cannot be read: {error}.")


def _first_parents(repository: pygit2.Repository) -> list[pygit2.Oid]:
    found: list[pygit2.Oid] = []
    commit = None if repository.head_is_unborn else repository.get(repository.head.target)
    while isinstance(commit, pygit2.Commit):
        found.append(commit.id)
        above = commit.parent_ids
        commit = repository.get(above[0]) if above else None
    return found


def _tags(repository: pygit2.Repository) -> dict[pygit2.Oid, list[str]]:
    found: dict[pygit2.Oid, list[str]] = {}
    for name in repository.references:
        if name.startswith("refs/tags/"):
            try:
                commit = repository.references[name].peel(pygit2.Commit)
            except _ERRORS:  # A tag of a file, or of what is not there.
                continue
            found.setdefault(commit.id, []).append(name.removeprefix("refs/tags/"))
    return found


def _episode(repository: pygit2.Repository, sha: pygit2.Oid, tags: list[str], origin: Origin) -> ImportedRecord:
    commit = repository[sha].peel(pygit2.Commit)
    subject, _, body = decoded(commit.raw_message, commit.message_encoding).strip().partition("\n")
    paths, count = _changed(repository, commit)
    if count:
        more = [f"- and {count - len(paths)} more"] if count > len(paths) else []
        body = "\n".join([body.strip(), "", "Changed files:", *(f"- {path}" for path in paths), *more])
    author = commit.author
    name, date = decoded(author.raw_name), moment(author.time)
    metadata: JsonObject = {
        "occurred_at": date, "captured_at": date, "speaker": name, "participants": [name, decoded(author.raw_email)],
        "labels": [*tags],
    }  # fmt: skip
    return ImportedRecord(str(sha), subject, body.strip() or subject, origin, "episode", tuple(tags), metadata)


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
