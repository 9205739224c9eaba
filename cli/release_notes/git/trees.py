"""Read touched paths and file contents from Git trees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffFlag, DiffOption, FileMode

from cli.release_notes.git.text import decoded_path

MOST_PATHS = 400
MOST_RENAMES = 1_000
"""Files on either side up to which renames are detected by content."""
BIGGEST_BLOB = 1_000_000
"""Bytes; bigger files are skipped."""
_MOST_MERGED = 2_000
Status = Literal["added", "removed", "changed", "renamed"]
_STATUS: dict[DeltaStatus, Status] = {
    DeltaStatus.ADDED: "added",
    DeltaStatus.DELETED: "removed",
    DeltaStatus.MODIFIED: "changed",
    DeltaStatus.TYPECHANGE: "changed",
    DeltaStatus.RENAMED: "renamed",
}
_PLAIN = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)
_NAMES_ONLY = DiffOption.SKIP_BINARY_CHECK


@dataclass(frozen=True, slots=True)
class Touched:
    """Paths that a commit changes, at most `MOST_PATHS` of `count`; of a merge, those unlike all parents."""

    paths: tuple[str, ...]
    added: frozenset[str]
    count: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file at both ends. Ids are None if missing, a link or a submodule, which has commits instead."""

    status: Status
    path: str
    old_path: str
    old_id: pygit2.Oid | None
    new_id: pygit2.Oid | None
    old_module: str | None = None
    new_module: str | None = None


NOTHING = Touched((), frozenset(), 0)


def touched(repository: pygit2.Repository, commit: pygit2.Commit) -> Touched:
    try:
        if len(commit.parent_ids) > 1:
            return _merged(repository, commit)
        diff = _against_parent(repository, commit)
        count = len(diff)
        paths, added = [], set()
        for delta in diff.deltas:
            path = decoded_path(delta.new_file.raw_path)
            paths.append(path)
            if delta.status == DeltaStatus.ADDED:
                added.add(path)
            if len(paths) >= MOST_PATHS:
                break
    except (pygit2.GitError, KeyError):
        # A shallow clone lacks the parent of its oldest commits.
        return NOTHING
    return Touched(tuple(paths), frozenset(added), count)


def _merged(repository: pygit2.Repository, commit: pygit2.Commit) -> Touched:
    left: set[str] | None = None
    for parent in commit.parents:
        diff = repository.diff(parent.tree_id, commit.tree_id, flags=_NAMES_ONLY, context_lines=0)
        if not len(diff) or len(diff) > _MOST_MERGED:
            return NOTHING
        paths = {decoded_path(delta.new_file.raw_path) for delta in diff.deltas}
        left = paths if left is None else left & paths
    kept = sorted(left or ())[:MOST_PATHS]
    return Touched(tuple(kept), frozenset(), len(kept))


def _against_parent(repository: pygit2.Repository, commit: pygit2.Commit) -> pygit2.Diff:
    ids = commit.parent_ids
    if not ids:
        return commit.tree.diff_to_tree(flags=_NAMES_ONLY, swap=True)
    parent = repository[ids[0]].peel(pygit2.Commit)
    return repository.diff(parent.tree_id, commit.tree_id, flags=_NAMES_ONLY, context_lines=0)


def between(repository: pygit2.Repository, older: pygit2.Commit, newer: pygit2.Commit) -> tuple[pygit2.Diff, bool]:
    """Compare two commits. Returns the diff, and whether renames were detected."""
    diff = repository.diff(older.tree.id, newer.tree.id, flags=DiffOption.SKIP_BINARY_CHECK, context_lines=0)
    statuses = [delta.status for delta in diff.deltas]
    few = max(statuses.count(DeltaStatus.ADDED), statuses.count(DeltaStatus.DELETED)) <= MOST_RENAMES
    if few:
        try:
            diff.find_similar(flags=DiffFind.FIND_RENAMES, rename_limit=MOST_RENAMES)
        except (pygit2.GitError, KeyError):
            few = False
    return diff, few


def files_of(diff: pygit2.Diff) -> list[FileChange]:
    found = []
    for delta in diff.deltas:
        status = _STATUS.get(delta.status)
        if status is not None:
            old, new = delta.old_file, delta.new_file
            found.append(
                FileChange(
                    status,
                    decoded_path(new.raw_path),
                    decoded_path(old.raw_path),
                    old.id if status != "added" and old.mode in _PLAIN else None,
                    new.id if status != "removed" and new.mode in _PLAIN else None,
                    str(old.id) if status != "added" and old.mode == FileMode.COMMIT else None,
                    str(new.id) if status != "removed" and new.mode == FileMode.COMMIT else None,
                )
            )
    return found


def line_counts(repository: pygit2.Repository, diff: pygit2.Diff, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield index, added and deleted lines of each changed file; None for binary, big and surplus files."""
    for number, delta in enumerate(diff.deltas):
        if number >= most or not _countable(repository, delta):
            yield number, 0, 0
            continue
        try:
            patch = diff[number]
        except (pygit2.GitError, KeyError):
            # The text of one of the two is missing or damaged.
            patch = None
        if patch is None or patch.delta.flags & DiffFlag.BINARY:
            yield number, 0, 0
        else:
            _, added, removed = patch.line_stats
            yield number, added, removed


def _countable(repository: pygit2.Repository, delta: pygit2.DiffDelta) -> bool:
    for file in (delta.old_file, delta.new_file):
        if file.mode in _PLAIN and size(repository, file.id) > BIGGEST_BLOB:
            return False
    return delta.old_file.mode != FileMode.COMMIT and delta.new_file.mode != FileMode.COMMIT


def size(repository: pygit2.Repository, blob: pygit2.Oid) -> int:
    try:
        return int(repository.odb.read_header(blob)[1])
    except (pygit2.GitError, KeyError):
        return 0


def text_of(repository: pygit2.Repository, blob: pygit2.Oid | None) -> str | None:
    if blob is None or size(repository, blob) > BIGGEST_BLOB:
        return None
    try:
        data = repository[blob].read_raw()
    except (pygit2.GitError, KeyError):
        return None
    return None if b"\0" in data[:8_000] else data.decode("utf-8", errors="replace")


def blob_at(repository: pygit2.Repository, commit: pygit2.Commit, path: str) -> pygit2.Oid | None:
    """Return the blob id of a plain file; otherwise None."""
    try:
        entry = commit.tree[path]
    except (KeyError, ValueError, pygit2.GitError):
        return None
    return entry.id if entry.filemode in _PLAIN else None


def names_at(commit: pygit2.Commit, folder: str = "") -> Sequence[str]:
    try:
        tree = commit.tree[folder] if folder else commit.tree
    except (KeyError, pygit2.GitError):
        return []
    if not isinstance(tree, pygit2.Tree):
        return []
    return [decoded_path(entry.raw_name) for entry in tree if entry.filemode in _PLAIN and entry.raw_name]
