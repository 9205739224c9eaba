"""The commits of a range."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.git.references import End

MOST_COMMITS = 50_000
"""A longer range is cut at its old end, with a remark."""


@dataclass(frozen=True, slots=True)
class Range:
    """Commits of `to` that `from` lacks, newest first, topological."""

    older: End
    newer: End
    commits: tuple[pygit2.Oid, ...]
    remarks: tuple[str, ...]


def range_between(repository: pygit2.Repository, older: End, newer: End) -> Range:
    """Check two ends and list the commits between.

    Raises:
        ReleaseNotesFailed: The ends are equal, reversed, unrelated or cut off by a shallow clone.
    """
    start, end = older.commit.id, newer.commit.id
    if start == end:
        raise ReleaseNotesFailed(
            f"There is nothing between '{older.ref}' and '{newer.ref}': both are commit {older.sha[:10]}."
        )
    base = repository.merge_base(start, end)
    if base is None:
        raise _unrelated(repository, older, newer)
    if base == end:
        ahead, _ = repository.ahead_behind(start, end)
        raise ReleaseNotesFailed(
            f"--from '{older.ref}' is newer than --to '{newer.ref}', by {_commits(ahead)}; swap them."
        )
    remarks = []
    if base != start:
        ahead, _ = repository.ahead_behind(start, end)
        remarks.append(f"{older.ref} has {_commits(ahead)} that {newer.ref} lacks; they are not part of these notes.")
    commits = _listed(repository, start, end)
    if len(commits) > MOST_COMMITS:
        remarks.append(f"Only the newest {MOST_COMMITS:,} of the commits were read.")
        commits = commits[:MOST_COMMITS]
    if shallow_boundary(repository).intersection(str(commit) for commit in commits):
        remarks.append("The clone is shallow and ends within the range: older commits of the range may be missing.")
    return Range(older, newer, commits, tuple(remarks))


def _unrelated(repository: pygit2.Repository, older: End, newer: End) -> ReleaseNotesFailed:
    if repository.is_shallow:
        return ReleaseNotesFailed(
            f"The clone is shallow and lacks the commits that connect '{older.ref}' and '{newer.ref}';"
            " `git fetch --unshallow` fetches them."
        )
    return ReleaseNotesFailed(
        f"'{older.ref}' and '{newer.ref}' have no commit in common: their histories are unrelated."
    )


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count:,} commits"


def _listed(repository: pygit2.Repository, start: pygit2.Oid, end: pygit2.Oid) -> tuple[pygit2.Oid, ...]:
    walker = repository.walk(end, SortMode.TOPOLOGICAL | SortMode.TIME)
    walker.hide(start)
    return tuple(commit.id for commit in islice(walker, MOST_COMMITS + 1))


def older_commits(repository: pygit2.Repository, start: pygit2.Oid) -> Iterator[pygit2.Commit]:
    yield from repository.walk(start, SortMode.TIME)


def shallow_boundary(repository: pygit2.Repository) -> frozenset[str]:
    for folder in (Path(repository.path), Path(repository.path).parent.parent):
        file = folder / "shallow"
        if file.is_file():
            return frozenset(file.read_text(encoding="ascii", errors="replace").split())
    return frozenset()
