"""Resolve references to commits, and commits to version tags."""

import difflib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pygit2
from pygit2.enums import ReferenceFilter

from cli.release_notes.failure import ReleaseNotesFailed

_VERSION = re.compile(r"^(?:.*?[@/_-])?[vV]?(\d+(?:\.\d+)*)(.*)$")
_DAY_MIN = 24 * 60
_SPECIAL = re.compile(r"[~^:{@]")


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
    found = _found(repository, ref, option)
    try:
        commit = found.peel(pygit2.Commit)
    except (pygit2.GitError, pygit2.InvalidSpecError, ValueError) as error:
        raise ReleaseNotesFailed(f"{option} '{ref}' is not a commit, nor a tag of one.") from error
    tag = _tag_of(repository, ref, commit)
    return End(ref, commit, tag, _made_at(repository, tag, commit))


def _found(repository: pygit2.Repository, ref: str, option: str) -> pygit2.Object:
    if repository.head_is_unborn and (ref.startswith("HEAD") or not list(repository.references)):
        raise ReleaseNotesFailed("The repository has no commits yet, so there is nothing to write notes about.")
    if "\0" in ref:
        # The library would read up to there.
        raise _unknown(repository, ref, option)
    try:
        return repository.revparse_single(ref)
    except ValueError as error:
        if "ambiguous" in str(error).lower():
            raise ReleaseNotesFailed(
                f"{option} '{ref}' is the beginning of several commits; write more of it."
            ) from error
        raise _unknown(repository, ref, option) from error
    except (KeyError, pygit2.GitError, OSError) as error:
        raise _unknown(repository, ref, option) from error


def _unknown(repository: pygit2.Repository, ref: str, option: str) -> ReleaseNotesFailed:
    if ".." in ref:
        return ReleaseNotesFailed(f"{option} '{ref}' is a range; give one end to --from and the other to --to.")
    message = f"{option} '{ref}' is no tag, branch or commit of this repository."
    names = {name.split("/", 2)[2] for name in repository.references if name.count("/") >= 2}
    near = difflib.get_close_matches(_SPECIAL.split(ref)[0], sorted(names)[:20_000], n=3, cutoff=0.7)
    near += [name for name in sorted(names) if name.partition("/")[2] == ref and name not in near][:2]
    if near:
        named = " or ".join(f"'{name}'" for name in near)
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
    except (pygit2.GitError, pygit2.InvalidSpecError, KeyError, ValueError):
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
