"""Steps of the analysis, from a request to the facts of a release."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cli.release_notes.analysis.changes import Entry, brought_in, change_of, changes_of, find_reverts
from cli.release_notes.analysis.matching import Writers, told
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.own import own_words
from cli.release_notes.analysis.wording import role
from cli.release_notes.facts import Change, ChangeKind, FactsRequest, Progress, ReleaseFacts
from cli.release_notes.project import project_name, raised_needs, read_manifests, remote_of, version_of
from cli.release_notes.repository import contributors, opened, range_between, resolve
from cli.release_notes.web import web_address

_ORDER: tuple[ChangeKind, ...] = (
    "security", "feature", "removal", "deprecation", "performance", "improvement", "fix", "other", "dependency",
    "documentation", "internal",
)  # fmt: skip


def analyse(request: FactsRequest, progress: Progress) -> ReleaseFacts:
    with opened(request, progress) as repository:
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
        changed = repository.changed(older.sha, newer.sha)
        own = list(own_words(changed, old, new, older.tag))
        writers = Writers(repository, entries)
        changes = told(changes, own, writers)
        before, manifests = read_manifests(repository, older.sha), read_manifests(repository, newer.sha)
        changes += list(_read_off(raised_needs(before, manifests), entries, changes))
        if request.interfaces:
            changes += list(_read_off(lost_parameters(changed, old, new), entries, changes))
        remote = remote_of(request, repository)
        progress("Ranking changes", f"{len(changes):,}")
        return ReleaseFacts(
            version=version_of(request, newer, before, manifests),
            older=older,
            newer=newer,
            commits={entry.sha: entry.commit for entry in entries},
            changes=_ordered(changes),
            steps=writers.told_apart(own, "migration"),
            contributors=contributors(commits),
            project_name=project_name(manifests, request, repository, newer.tag),
            manifests=manifests,
            remote_url=web_address(remote) if remote else None,
            known_issues=writers.told_apart(own, "known issue"),
            remarks=tuple(remarks),
        )


def _read_off(
    found: Iterable[tuple[str, str, str]], entries: Sequence[Entry], changes: Sequence[Change]
) -> Iterator[Change]:
    broken = " ".join(f"{change.text} {change.details}" for change in changes if change.breaking).casefold()
    for path, text, name in found:
        writers = [entry for entry in entries if path in entry.commit.paths]
        if writers and name.casefold() not in broken:
            made = change_of(read_message(text, ""), writers[-3:])
            yield replace(made, kind="removal", breaking=True, declared=True)


def lost_parameters(paths: Mapping[str, str], *ends: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """Yield file, statement and parameter of public functions; `paths` are files by status, `ends` read a path."""
    from griffe import BreakageKind, find_breaking_changes, visit  # noqa: PLC0415 - few ask for it

    for path, status in sorted(paths.items()):
        if status != "M" or not path.endswith(".py") or role(path) != "source" or re.search(r"(?:^|/)_(?!_)", path):
            continue
        try:
            modules = [visit(Path(path.removesuffix("/__init__.py")).stem, Path(path), read(path)) for read in ends]
        except (SyntaxError, ValueError, RecursionError):
            continue
        for found in find_breaking_changes(*modules):
            if found.kind is BreakageKind.PARAMETER_REMOVED:
                name = found.old_value.name
                yield path, f"`{found.obj.path}()` no longer takes `{name}`", name


def _ordered(changes: Sequence[Change]) -> tuple[Change, ...]:
    # If the project wrote notes, a change missing there is internal unless its commit plainly says otherwise.
    is_told = any(change.own for change in changes)
    done = [replace(each, kind="internal") if is_told and not _is_plain(each) else each for each in changes]
    return (*(each for each in done if each.own), *sorted((each for each in done if not each.own), key=_rank))


def _is_plain(change: Change) -> bool:
    reviewed = change.pull_request and any(role(path) == "source" for path in change.paths)
    telling = change.kind in ("feature", "fix", "performance", "security") and (change.conventional or reviewed)
    return change.own or change.breaking or bool(telling) or change.kind in ("documentation", "dependency")


def _rank(change: Change) -> tuple[int, ...]:
    sources = sum(role(path) == "source" for path in change.paths)
    return -change.declared - change.breaking, _ORDER.index(change.kind), -bool(change.details), -sources
