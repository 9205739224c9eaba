"""The ends of a range, as commits and version tags, and the commits between."""

import difflib
import re
from dataclasses import dataclass
from datetime import datetime

from cli.release_notes.facts import Commit, ReleaseNotesFailed
from cli.release_notes.repository import Repository, moment

MOST_COMMITS = 50_000
"""A longer range is cut at its old end, with a remark."""
LONGEST_REF = 1_000
_VERSION = re.compile(r"^(?:.*?[@/_-])?[vV]?(\d+(?:\.\d+)*)(.*)$")


@dataclass(frozen=True, slots=True)
class End:
    """One end of the range; `at` is the date of its annotated tag, else of its commit."""

    ref: str
    sha: str
    tag: str | None
    at: datetime


def resolve(repository: Repository, ref: str, option: str) -> End:
    """Find the commit of a tag, branch, sha prefix or expression such as `HEAD~3`."""
    if not ref.strip():
        raise ReleaseNotesFailed(f"{option} needs a tag, a branch or a commit.")
    fit = len(ref) <= LONGEST_REF and "\0" not in ref and not ref.startswith("-")
    sha = repository.text("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") if fit else ""
    if not sha:
        raise _unknown(repository, ref, option, is_other=fit and bool(repository.text("rev-parse", "--verify", ref)))
    shown = ("--decorate=full", "--decorate-refs=refs/tags/", "--format=%D|%cd", "--date=raw", "--no-color")
    names, _, at = repository.run("log", "-1", *shown, sha, "--").decode(errors="replace").rpartition("|")
    tags = re.findall(r"refs/tags/([^\s,]+)", names)
    asked = ref.removeprefix("refs/").removeprefix("tags/")
    tag = asked if asked in tags else max((each for each in tags if _VERSION.match(each)), key=_likely, default=None)
    tagged = repository.text("for-each-ref", "--format=%(taggerdate:raw)", f"refs/tags/{tag}") if tag else ""
    return End(ref, sha, tag, moment(tagged or at))


def _likely(tag: str) -> tuple[tuple[int, ...], bool, str]:
    match = _VERSION.match(tag)
    numbers = tuple(int(part[:18]) for part in match[1].split(".")) if match else ()
    return numbers, not (match and match[2]), tag


def _unknown(repository: Repository, ref: str, option: str, *, is_other: bool) -> ReleaseNotesFailed:
    names = repository.text("for-each-ref", "--format=%(refname)").splitlines()
    if not repository.text("rev-parse", "--verify", "--quiet", "HEAD") and (ref.startswith("HEAD") or not names):
        return ReleaseNotesFailed("The repository has no commits yet, so there is nothing to write notes about.")
    if is_other:
        return ReleaseNotesFailed(f"{option} '{ref}' is not a commit, nor a tag of one.")
    if ".." in ref:
        return ReleaseNotesFailed(f"{option} '{ref}' is a range; give one end to --from and the other to --to.")
    message = f"{option} '{ref[:LONGEST_REF]}' is no tag, branch or commit of this repository."
    short = sorted({name.split("/", 2)[2] for name in names if name.count("/") >= 2})
    near = difflib.get_close_matches(re.split(r"[~^:{@]", ref[:LONGEST_REF])[0], short[:20_000], n=3, cutoff=0.7)
    if near:
        named = " or ".join(f"'{name}'" for name in near)
        message += f" Did you mean {named}?"
    if repository.is_shallow:
        message += " The clone is shallow and may lack it: `git fetch --unshallow --tags` fetches the rest."
    return ReleaseNotesFailed(message)


def range_between(repository: Repository, older: End, newer: End) -> tuple[list[Commit], list[str]]:
    """Check two ends; return the commits between, newest first, and remarks on what may be missing."""
    if older.sha == newer.sha:
        raise ReleaseNotesFailed(
            f"There is nothing between '{older.ref}' and '{newer.ref}': both are commit {older.sha[:10]}."
        )
    base = repository.text("merge-base", older.sha, newer.sha)
    ahead = repository.text("rev-list", "--count", older.sha, f"^{newer.sha}")
    ahead = "1 commit" if ahead == "1" else f"{int(ahead or 0):,} commits"
    if base == newer.sha:
        raise ReleaseNotesFailed(f"--from '{older.ref}' is newer than --to '{newer.ref}', by {ahead}; swap them.")
    if not base and not repository.is_shallow:
        raise ReleaseNotesFailed(
            f"'{older.ref}' and '{newer.ref}' have no commit in common: their histories are unrelated."
        )
    commits = repository.commits(older.sha, newer.sha, MOST_COMMITS + 1)
    remarks = []
    if not base:
        remarks.append(
            f"The clone is shallow and lacks the commits that connect {older.ref} and {newer.ref}: some of the oldest"
            " commits listed may belong to an earlier release, or be missing; `git fetch --unshallow` fetches them."
        )
    elif base != older.sha:
        remarks.append(f"{older.ref} has {ahead} that {newer.ref} lacks; they are not part of these notes.")
    if len(commits) > MOST_COMMITS:
        remarks.append(f"Only the newest {MOST_COMMITS:,} of the commits were read.")
    if base and repository.is_shallow and not all(commit.parents for commit in commits):
        remarks.append("The clone is shallow and ends within the range: older commits of the range may be missing.")
    return commits[:MOST_COMMITS], remarks
