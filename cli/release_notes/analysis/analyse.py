"""Steps of the analysis, from a request to the facts of a release."""

from collections.abc import Sequence

from cli.release_notes.analysis.changelog import changelog_evidence, known_issues
from cli.release_notes.analysis.collect import Collected, collect
from cli.release_notes.analysis.contributors import contributors
from cli.release_notes.analysis.entries import MOST_DIFFED, Entry, Reader
from cli.release_notes.analysis.identity import addresses, project_files, project_name, version_of
from cli.release_notes.analysis.ranking import weigh
from cli.release_notes.analysis.surface.compare import Compared, compare
from cli.release_notes.facts import Change, FactsRequest, Progress, ReleaseFacts
from cli.release_notes.git.history import Range, range_between
from cli.release_notes.git.objects import Repository
from cli.release_notes.git.people import Names
from cli.release_notes.git.references import resolve
from cli.release_notes.git.sources import opened


def analyse(request: FactsRequest, progress: Progress) -> ReleaseFacts:
    """Analyse a range of commits; write nothing but a temporary clone.

    Ten thousand commits take seconds and a few hundred megabytes; `remarks` names what was cut.

    Raises:
        ReleaseNotesFailed: There is no such repository, range or reference.
    """
    with opened(request, progress) as repository:
        progress("Finding the range", f"{request.from_ref} to {request.to_ref}")
        older = resolve(repository, request.from_ref, "--from")
        newer = resolve(repository, request.to_ref, "--to")
        found = range_between(repository, older, newer)
        progress("Reading commits", f"{len(found.commits):,}")
        names = Names(repository, newer.commit)
        entries = list(Reader(repository, names).entries(found.commits))
        return _facts(request, repository, found, entries, names, progress)


def _facts(
    request: FactsRequest,
    repository: Repository,
    found: Range,
    entries: Sequence[Entry],
    names: Names,
    progress: Progress,
) -> ReleaseFacts:
    older, newer = found.older, found.newer
    progress("Sorting changes", f"{len(entries):,} commits")
    collected = collect(entries, newer.sha)
    progress("Comparing both ends")
    compared = compare(repository, older.commit, newer.commit, entries, progress)
    progress("Reading the project's changelog")
    changelog_evidence(collected, compared, entries)
    progress("Counting contributors")
    people, bots, remark = contributors(entries, repository, names, older.commit.id)
    web, comparison = addresses(repository, request, older, newer)
    files = project_files(repository, newer.commit)
    progress("Ranking changes", f"{len(collected.drafts):,}")
    return ReleaseFacts(
        version=version_of(request, older, newer, repository),
        released_at=newer.at,
        from_ref=request.from_ref,
        to_ref=request.to_ref,
        from_sha=older.sha,
        to_sha=newer.sha,
        commits={entry.sha: entry.commit for entry in entries},
        changes=_ranked(collected),
        reverted=tuple(made.change(0.0) for made in collected.reverted),
        surface=compared.surface,
        dependencies=compared.dependencies,
        areas=compared.areas,
        contributors=people,
        bots=bots,
        project_name=project_name(files, request, repository),
        project_files=files,
        remote_url=web,
        compare_url=comparison,
        known_issues=known_issues(entries, compared),
        remarks=_remarks(found, entries, compared, remark),
    )


def _ranked(collected: Collected) -> tuple[Change, ...]:
    weighed = [(weigh(made), number, made) for number, made in enumerate(collected.drafts)]
    return tuple(made.change(impact) for impact, _, made in sorted(weighed, key=lambda one: (-one[0], one[1])))


def _remarks(found: Range, entries: Sequence[Entry], compared: Compared, newness: str | None) -> tuple[str, ...]:
    remarks = [*found.remarks, *compared.remarks]
    if len(entries) > MOST_DIFFED:
        remarks.append(f"Of the oldest {len(entries) - MOST_DIFFED:,} commits only the messages were read.")
    if newness:
        remarks.append(newness)
    return tuple(remarks)
