"""The ends of a range, as commits and version tags, and the commits between."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import ReferenceFilter, SortMode

from cli.release_notes.facts import ReleaseNotesFailed

_VERSION = re.compile(r"^(?:.*?[@/_-])?[vV]?(\d+(?:\.\d+)*)(.*)$")
_DAY_MIN = 24 * 60
_UNREADABLE = (pygit2.GitError, pygit2.InvalidSpecError, KeyError, ValueError)


@dataclass(frozen=True, slots=True)
class End:
    """One end of the range; `at` is the date of its annotated tag, else of its commit."""

    ref: str
    commit: pygit2.Commit
    tag: str | None
    at: datetime

    @property
    def sha(self) -> str:
        return str(self.commit.id)


def resolve(repository: pygit2.Repository, ref: str, option: str) -> End:
    """Find the commit of a tag, branch, sha prefix or expression such as `HEAD~3`.

    Raises:
        ReleaseNotesFailed: There is none, several, or it is no commit.
    """
    if not ref.strip():
        raise ReleaseNotesFailed(f"{option} needs a tag, a branch or a commit.")
    if repository.head_is_unborn and (ref.startswith("HEAD") or not list(repository.references)):
        raise ReleaseNotesFailed("The repository has no commits yet, so there is nothing to write notes about.")
    try:
        # The library would read up to a NUL.
        found = repository.revparse_single(ref) if "\0" not in ref else None
    except (*_UNREADABLE, OSError) as error:
        if "ambiguous" in str(error).lower():
            raise ReleaseNotesFailed(
                f"{option} '{ref}' is the beginning of several commits; write more of it."
            ) from error
        found = None
    if found is None:
        raise _unknown(repository, ref, option)
    try:
        commit = found.peel(pygit2.Commit)
    except _UNREADABLE as error:
        raise ReleaseNotesFailed(f"{option} '{ref}' is not a commit, nor a tag of one.") from error
    tag = _tag_of(repository, ref, commit)
    return End(ref, commit, tag, _made_at(repository, tag, commit))


def _unknown(repository: pygit2.Repository, ref: str, option: str) -> ReleaseNotesFailed:
    if ".." in ref:
        return ReleaseNotesFailed(f"{option} '{ref}' is a range; give one end to --from and the other to --to.")
    message = f"{option} '{ref}' is no tag, branch or commit of this repository."
    names = sorted({name.split("/", 2)[2] for name in repository.references if name.count("/") >= 2})
    near = difflib.get_close_matches(re.split(r"[~^:{@]", ref)[0], names[:20_000], n=3, cutoff=0.7)
    near += [name for name in names if name.partition("/")[2] == ref and name not in near][:2]
    named = " or ".join(f"'{name}'" for name in near)
    if near:
        message += f" Did you mean {named}?"
    if repository.is_shallow:
        message += " The clone is shallow and may lack it: `git fetch --unshallow --tags` fetches the rest."
    return ReleaseNotesFailed(message)


def _tag_of(repository: pygit2.Repository, ref: str, commit: pygit2.Commit) -> str | None:
    named = ref.removeprefix("refs/").removeprefix("tags/")
    if f"refs/tags/{named}" in repository.references and _peels_to(repository, named, commit):
        return named
    tags = (each.name.removeprefix("refs/tags/") for each in repository.references.iterator(ReferenceFilter.TAGS))
    here = [name for name in tags if _VERSION.match(name) and _peels_to(repository, name, commit)]
    return max(here, key=_likely, default=None)


def _peels_to(repository: pygit2.Repository, tag: str, commit: pygit2.Commit) -> bool:
    try:
        return bool(repository.references[f"refs/tags/{tag}"].peel(pygit2.Commit).id == commit.id)
    except _UNREADABLE:
        return False


def _likely(tag: str) -> tuple[tuple[int, ...], bool, str]:
    match = _VERSION.match(tag)
    numbers = tuple(int(part[:18]) for part in match[1].split(".")) if match else ()
    return numbers, not (match and match[2]), tag


def _made_at(repository: pygit2.Repository, tag: str | None, commit: pygit2.Commit) -> datetime:
    if tag is not None:
        target = repository[repository.references[f"refs/tags/{tag}"].resolve().target]
        if isinstance(target, pygit2.Tag) and target.tagger is not None:
            return moment(target.tagger.time, target.tagger.offset)
    return moment(commit.commit_time, commit.commit_time_offset)


def moment(seconds: int, offset_min: int) -> datetime:
    zone = timezone(timedelta(minutes=offset_min)) if abs(offset_min) < _DAY_MIN else UTC
    try:
        return datetime.fromtimestamp(seconds, zone)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


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
        ReleaseNotesFailed: The ends are equal, reversed or unrelated.
    """
    start, end = older.commit.id, newer.commit.id
    if start == end:
        raise ReleaseNotesFailed(
            f"There is nothing between '{older.ref}' and '{newer.ref}': both are commit {older.sha[:10]}."
        )
    base = repository.merge_base(start, end)
    ahead, _ = repository.ahead_behind(start, end)
    if base == end:
        raise ReleaseNotesFailed(
            f"--from '{older.ref}' is newer than --to '{newer.ref}', by {_commits(ahead)}; swap them."
        )
    if base is None and not repository.is_shallow:
        raise ReleaseNotesFailed(
            f"'{older.ref}' and '{newer.ref}' have no commit in common: their histories are unrelated."
        )
    walker = repository.walk(end, SortMode.TOPOLOGICAL | SortMode.TIME)
    walker.hide(start)
    commits = tuple(commit.id for commit in islice(walker, MOST_COMMITS + 1))
    remarks = []
    if base is None:
        remarks.append(
            f"The clone is shallow and lacks the commits that connect {older.ref} and {newer.ref}: some of the oldest"
            f" commits listed"
            " may belong to an earlier release, or be missing; `git fetch --unshallow` fetches them."
        )
    elif base != start:
        remarks.append(f"{older.ref} has {_commits(ahead)} that {newer.ref} lacks; they are not part of these notes.")
    if len(commits) > MOST_COMMITS:
        remarks.append(f"Only the newest {MOST_COMMITS:,} of the commits were read.")
    if base is not None and _boundary(repository).intersection(map(str, commits)):
        remarks.append("The clone is shallow and ends within the range: older commits of the range may be missing.")
    return Range(older, newer, commits[:MOST_COMMITS], tuple(remarks))


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count:,} commits"


def older_commits(repository: pygit2.Repository, start: pygit2.Oid) -> Iterator[pygit2.Commit]:
    yield from repository.walk(start, SortMode.TIME)


def _boundary(repository: pygit2.Repository) -> frozenset[str]:
    files = (folder / "shallow" for folder in (Path(repository.path), Path(repository.path).parent.parent))
    file = next((file for file in files if file.is_file()), None)
    return frozenset(file.read_text(encoding="ascii", errors="replace").split()) if file else frozenset()
