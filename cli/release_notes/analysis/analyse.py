"""Steps of the analysis, from a request to the facts of a release."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from cli.release_notes.analysis.branches import Entry, brought_in, find_reverts
from cli.release_notes.analysis.changes import change_of, changes_of
from cli.release_notes.analysis.matching import Writers, told
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.own import own_words
from cli.release_notes.analysis.paths import role
from cli.release_notes.facts import Change, ChangeKind, FactsRequest, Progress, ReleaseFacts
from cli.release_notes.people import contributors
from cli.release_notes.project import project_name, raised_needs, read_manifests, remote_of, version_of
from cli.release_notes.ranges import range_between, resolve
from cli.release_notes.repository import Repository, opened
from cli.release_notes.web import web_address

_WEIGHTS: dict[ChangeKind, float] = {
    "security": 0.62, "feature": 0.58, "removal": 0.46, "deprecation": 0.46, "performance": 0.44, "improvement": 0.40,
    "fix": 0.32, "other": 0.16, "dependency": 0.12, "documentation": 0.10, "internal": 0.05,
}  # fmt: skip


def analyse(request: FactsRequest, progress: Progress) -> ReleaseFacts:
    """Analyse a range of commits; write nothing but a temporary clone."""
    with opened(request, progress) as repository:
        return _facts(request, repository, progress)


def _facts(request: FactsRequest, repository: Repository, progress: Progress) -> ReleaseFacts:
    progress("Finding the range", f"{request.from_ref} to {request.to_ref}")
    older, newer = resolve(repository, request.from_ref, "--from"), resolve(repository, request.to_ref, "--to")
    commits, remarks = range_between(repository, older, newer)
    progress("Sorting changes", f"{len(commits):,} commits")
    entries = [Entry(commit, read_message(commit.subject, commit.body)) for commit in commits]
    merged = brought_in(entries, newer.sha)
    cancelled, undoing = find_reverts(entries, merged)
    changes = changes_of([each for each in entries if each.sha not in cancelled], merged, undoing)
    progress("Reading the project's changelog")
    old, new = (partial(repository.content, end.sha) for end in (older, newer))
    own = list(own_words(repository.changed(older.sha, newer.sha), old, new, older.tag))
    writers = Writers(repository, entries)
    changes = told(changes, own, writers)
    before, manifests = read_manifests(repository, older.sha), read_manifests(repository, newer.sha)
    changes += list(_raised(raised_needs(before, manifests), entries, changes))
    progress("Counting contributors")
    people = contributors(commits)
    remote = remote_of(request, repository)
    progress("Ranking changes", f"{len(changes):,}")
    return ReleaseFacts(
        version=version_of(request, newer, before, manifests),
        released_at=newer.at,
        from_ref=request.from_ref,
        to_ref=request.to_ref,
        from_sha=older.sha,
        to_sha=newer.sha,
        commits={entry.sha: entry.commit for entry in entries},
        changes=_ordered(changes),
        steps=writers.told_apart(own, "migration"),
        contributors=tuple(each for each in people if not each.person.is_bot),
        bots=tuple(each for each in people if each.person.is_bot),
        project_name=project_name(manifests, request, repository, newer.tag),
        manifests=manifests,
        remote_url=web_address(remote) if remote else None,
        compared=(older.tag or older.sha, newer.tag or newer.sha),
        known_issues=writers.told_apart(own, "known issue"),
        remarks=tuple(remarks),
    )


def _raised(
    needs: Iterable[tuple[str, str, str]], entries: Sequence[Entry], changes: Sequence[Change]
) -> Iterator[Change]:
    broken = " ".join(change.text for change in changes if change.breaking).casefold()
    for path, before, after in needs:
        writers = [entry for entry in entries if path in entry.commit.paths]
        if writers and after.partition(" ")[0].casefold() not in broken:
            made = change_of(read_message(f"Require {after} (before: {before})", ""), writers[-3:])
            yield replace(made, kind="removal", breaking=True, declared=True)


def _ordered(changes: Sequence[Change]) -> tuple[Change, ...]:
    # Where the project wrote its notes, what it says nothing of is a change only if its commit says so plainly.
    is_told = any(change.own for change in changes)
    done = [replace(each, kind="internal") if is_told and not _is_plain(each) else each for each in changes]
    weighed = [replace(each, impact=_impact(each)) for each in done]
    return tuple(sorted(weighed, key=lambda each: (not each.own, 0 if each.own else -each.impact)))


def _is_plain(change: Change) -> bool:
    reviewed = change.pull_request and any(role(path) == "source" for path in change.paths)
    telling = change.kind in ("feature", "fix", "performance", "security") and (change.conventional or reviewed)
    return change.own or change.breaking or bool(telling) or change.kind in ("documentation", "dependency")


def _impact(change: Change) -> float:
    weight = _WEIGHTS[change.kind] + (0.4 if change.declared else 0.25 if change.breaking else 0)
    weight += 0.1 * change.own + 0.05 * bool(change.details) + 0.02 * bool(change.issues)
    weight += min(0.05, 0.01 * sum(role(path) == "source" for path in change.paths))
    return round(min(0.99, weight), 4)
