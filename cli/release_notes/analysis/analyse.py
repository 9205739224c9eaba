"""Steps of the analysis, from a request to the facts of a release."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from cli.release_notes.analysis.branches import brought_in, find_reverts
from cli.release_notes.analysis.drafts import Draft, draft, drafts_of
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.matching import Writers, told
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.own import Own, own_words
from cli.release_notes.analysis.paths import role
from cli.release_notes.analysis.prefix import is_nothing
from cli.release_notes.facts import Change, FactsRequest, Progress, ReleaseFacts
from cli.release_notes.people import contributors
from cli.release_notes.project import project_name, raised_needs, read_manifests, remote_of, version_of
from cli.release_notes.ranges import End, Range, range_between, resolve
from cli.release_notes.repository import Repository, opened
from cli.release_notes.web import web_address

MOST_EARLIER = 200_000
"""Earlier commits in which people are looked up."""
_TELLING = ("feature", "fix", "performance", "security")
_KNOWN_ISSUES = re.compile(r"^known (?:issues?|problems?|bugs?|limitations?)\s*(?::| -)\s*(?P<rest>\S.*)$", re.I)


def analyse(request: FactsRequest, progress: Progress) -> ReleaseFacts:
    """Analyse a range of commits; write nothing but a temporary clone.

    Raises:
        ReleaseNotesFailed: There is no such repository, range or reference.
    """
    with opened(request, progress) as repository:
        progress("Finding the range", f"{request.from_ref} to {request.to_ref}")
        older = resolve(repository, request.from_ref, "--from")
        newer = resolve(repository, request.to_ref, "--to")
        progress("Reading commits")
        found = range_between(repository, older, newer)
        entries = [Entry(commit, read_message(commit.subject, commit.body)) for commit in found.commits]
        return _facts(request, repository, found, entries, progress)


def _facts(
    request: FactsRequest, repository: Repository, found: Range, entries: Sequence[Entry], progress: Progress
) -> ReleaseFacts:
    older, newer = found.older, found.newer
    progress("Sorting changes", f"{len(entries):,} commits")
    by_sha = {entry.sha: entry for entry in entries}
    merged = brought_in(entries, newer.sha)
    reverts = find_reverts(entries, merged)
    alive = [entry for entry in entries if entry.sha not in reverts.cancelled]
    drafts = drafts_of(alive, merged, by_sha, reverts)
    progress("Reading the project's changelog")
    own = list(_own(repository, older, newer))
    writers = Writers(repository, entries)
    drafts = told(drafts, own, writers)
    before, manifests = read_manifests(repository, older.sha), read_manifests(repository, newer.sha)
    drafts += list(_raised(raised_needs(before, manifests), entries, drafts))
    progress("Counting contributors")
    earlier = None if repository.is_shallow else repository.authors(older.sha, MOST_EARLIER)
    people = contributors(found.commits, earlier)
    remote = remote_of(request, repository)
    progress("Ranking changes", f"{len(drafts):,}")
    remarks = [*found.remarks, "Who contributed for the first time is not known: the clone is shallow."]
    return ReleaseFacts(
        version=version_of(request, newer, before, manifests),
        released_at=newer.at,
        from_ref=request.from_ref,
        to_ref=request.to_ref,
        from_sha=older.sha,
        to_sha=newer.sha,
        commits={entry.sha: entry.commit for entry in entries},
        changes=_ordered(drafts),
        steps=writers.told_apart(own, "migration"),
        reverted=tuple(
            draft(by_sha[sha].message, [by_sha[sha], by_sha[by]]).change() for sha, by in reverts.pairs.items()
        ),
        contributors=tuple(each for each in people if not each.person.is_bot),
        bots=tuple(each for each in people if each.person.is_bot),
        project_name=project_name(manifests, request, repository, newer.tag),
        manifests=manifests,
        remote_url=web_address(remote) if remote else None,
        compared=(older.tag or older.sha, newer.tag or newer.sha),
        known_issues=(*_known_issues(entries), *writers.told_apart(own, "known issue")),
        remarks=tuple(remarks if repository.is_shallow else found.remarks),
    )


def _own(repository: Repository, older: End, newer: End) -> Iterator[Own]:
    paths = repository.changed(older.sha, newer.sha)
    return own_words(paths, partial(repository.content, older.sha), partial(repository.content, newer.sha), older.tag)


def _raised(
    needs: Iterable[tuple[str, str, str]], entries: Sequence[Entry], drafts: Sequence[Draft]
) -> Iterator[Draft]:
    broken = " ".join(made.change().text for made in drafts if made.breaking).casefold()
    for path, before, after in needs:
        writers = [entry for entry in entries if path in entry.paths]
        if writers and after.partition(" ")[0].casefold() not in broken:
            made = draft(read_message(f"Require {after} (before: {before})", ""), writers[-3:])
            yield replace(made, kind="removal", breaking=True, declared=True)


def _ordered(drafts: Sequence[Draft]) -> tuple[Change, ...]:
    # Where the project wrote its notes, what it says nothing of is a change only if its commit says so plainly.
    if any(made.own for made in drafts):
        for made in drafts:
            reviewed = made.message.pull_request and any(role(path) == "source" for path in made.paths)
            plain = made.kind in _TELLING and (made.message.conventional or reviewed)
            if not (made.own or made.breaking or plain or made.kind in ("documentation", "dependency")):
                made.kind = "internal"
    ranked = sorted(drafts, key=lambda made: (made.own is None, made.place if made.own else -made.impact))
    return tuple(made.change() for made in ranked)


def _known_issues(entries: Sequence[Entry]) -> Iterator[Change]:
    for entry in entries:
        paragraphs = (" ".join(part.split()) for part in (entry.message.text, *entry.commit.body.split("\n\n")))
        for match in filter(None, map(_KNOWN_ISSUES.match, paragraphs)):
            if not is_nothing(match["rest"]):
                yield draft(read_message(match["rest"], ""), [entry]).change()
