"""Draft the document from facts alone."""

import re
from collections.abc import Iterator, Sequence

from cli.release_notes.document import lists
from cli.release_notes.document.installation import installation
from cli.release_notes.document.model import (
    Block,
    Document,
    Note,
    Section,
    Statement,
    counted,
    joined,
    sentence,
    shortened,
)
from cli.release_notes.document.presets import Preset
from cli.release_notes.facts import Contributor, ReleaseFacts
from cli.release_notes.focus import Focus
from cli.release_notes.web import Web
from tools.text.inline import code, inert
from tools.text.plain import one_line, plain

NAME_LIMIT = 120
_NAMED = (("features", "feature", None), ("improvements", "improvement", None), ("fixes", "fix", "fixes"))


def draft(facts: ReleaseFacts, preset: Preset, focus: Focus) -> Document:
    """Write the document without a language model."""
    web = Web.of(facts.remote_url, facts.commits)
    places = {id(change): f"c{number}" for number, change in enumerate(facts.changes)}
    chosen = [(places[id(change)], change) for change in focus.chosen(facts.changes)]
    leaves_out = len(chosen) < len(facts.changes)
    shared = lists.share_out(chosen, preset)
    highlights = tuple(lists.highlight(identity, change, preset) for identity, change in shared["highlights"])
    unremarkable = lists.NOT_ASKED_FOR if leaves_out else "No single change stands out."
    broken = tuple(lists.broken(identity, change, preset) for identity, change in shared.get("breaking", ()))
    steps = "Nobody wrote down steps beyond what is said above." if broken else "Nothing has to be done."
    known = tuple(
        Statement(f"k{number}", lists.said(change), change.commits, pull_request=change.pull_request)
        for number, change in enumerate(facts.known_issues)
    )
    parts = [
        Section("overview", "Overview", tuple(map(Note, _overview(facts, preset, focus, web)))),
        Section("highlights", "Highlights", highlights, unremarkable),
        Section("new", "What's new"),
        *lists.sections(shared, preset, leaves_out=leaves_out),
        Section("breaking", "Breaking changes", broken, "Nothing is known to break."),
        Section("migration", "Migration guide", tuple(_migration(facts, chosen)), steps),
        installation(facts, preset),
        Section("known_issues", "Known issues", known, "None are recorded in these commits."),
        Section(
            "contributors",
            "Contributors",
            tuple(_contributors(facts, preset, web)),
            "Nobody is named in these commits.",
        ),
        Section("changelog", "Full changelog", tuple(_changelog(facts, preset, web))),
    ]
    return Document(title(facts), facts.version, facts.released_at, tuple(parts), web)


def _span(facts: ReleaseFacts, web: Web) -> str:
    return web.comparison(f"{facts.from_sha[: web.short]}..{facts.to_sha[: web.short]}", *facts.compared)


def title(facts: ReleaseFacts) -> str:
    name, version = one_line(facts.project_name or "", NAME_LIMIT), one_line(facts.version, NAME_LIMIT)
    if name and version.casefold().startswith(name.casefold()):
        return f"{name} {re.sub(r'^[-_@/ ]+(?=v?[0-9])', '', version[len(name) :])}".strip()
    return f"{name} {version}".strip()


def _overview(facts: ReleaseFacts, preset: Preset, focus: Focus, web: Web) -> Iterator[str]:
    broken = sum(change.breaking for change in facts.changes)
    visible = [lists.SECTION_OF[change.kind] for change in facts.changes if not change.breaking]
    parts = [counted(broken, "breaking change")] if broken else []
    parts += [
        counted(number, one, many) for name, one, many in _NAMED if (number := sum(name == each for each in visible))
    ]
    brings = f"brings {joined(parts)}" if parts else "changes nothing that users would notice"
    people = f" by {counted(len(facts.contributors), 'person', 'people')}" if facts.contributors else ""
    days = sorted(commit.committed_at.date().isoformat() for commit in facts.commits.values())
    span = f" ({days[0]} to {days[-1]})" if days and days[0] != days[-1] and not preset.terse else ""
    what = inert(title(facts))
    if facts.version.casefold() == "unreleased":
        what = f"The next release of {inert(facts.project_name or 'the project')}"
    commits = f"{counted(len(facts.commits), 'commit')} ({_span(facts, web)})"
    read = " Read [Breaking changes](#breaking-changes) before you upgrade." if broken else ""
    yield f"{what} {brings}, in {commits}{people} since {code(shortened(facts.from_ref))}{span}.{read}"
    found = focus.found(facts.changes)
    first, out = ([inert(word) for word in words if found[word]] for words in (focus.first, focus.left_out))
    said = (
        [f"These notes {'list only' if focus.alone else 'begin each list with'} what concerns {joined(first)}."]
        if first
        else []
    )
    said += [f"They leave out what concerns {joined(out)}."] if out else []
    if said:
        yield " ".join(said)


def _migration(facts: ReleaseFacts, changes: Sequence[lists.Identified]) -> Iterator[Statement]:
    for number, step in enumerate(facts.steps):
        yield Statement(
            f"m-own{number}", lists.said(step), step.commits, details=plain(step.details)[: lists.NOTE_LIMIT]
        )
    for identity, change in changes:
        if steps := plain(change.migration or "").strip()[: lists.NOTE_LIMIT * 2]:
            yield Statement(
                f"m-{identity}", lists.said(change), change.commits, "", steps, change.pull_request, (), True
            )


def _contributors(facts: ReleaseFacts, preset: Preset, web: Web) -> Iterator[Note]:
    people = facts.contributors
    if people:
        names = [_name(each) if preset.terse else _with_count(each) for each in people]
        yield Note(f"Thanks to {_named(names, preset.people)}, for {_span(facts, web)}.")
    new = [_name(each) for each in people if each.is_new]
    if new and len(new) < len(people) and not preset.terse:
        yield Note(f"First contributions by {_named(new, preset.people)}: welcome!")
    if facts.bots and not preset.terse:
        yield Note(f"Automated: {_named([_with_count(each) for each in facts.bots], preset.people)}.")


def _named(names: Sequence[str], named: int) -> str:
    rest = len(names) - named
    return joined([*names[:named], f"{rest:,} more"] if rest > 0 else names)


def _name(contributor: Contributor) -> str:
    return inert(one_line(contributor.person.name, NAME_LIMIT)) or "somebody without a name"


def _with_count(contributor: Contributor) -> str:
    return f"{_name(contributor)} ({counted(contributor.commits, 'commit')})"


def _changelog(facts: ReleaseFacts, preset: Preset, web: Web) -> Iterator[Block]:
    span = f"{shortened(facts.from_ref)}...{shortened(facts.to_ref)}"
    commits = f"all {counted(len(facts.commits), 'commit')}."
    listing = code(f"git log {facts.from_ref}..{facts.to_ref}")
    yield Note(f"{web.comparison(span, *facts.compared)}: {commits}" if web.base else f"{listing} lists {commits}")
    if facts.reverted and not preset.terse:
        taken_back = tuple(dict.fromkeys(sha for change in facts.reverted for sha in change.commits))
        were = counted(len(facts.reverted), "change was", "changes were")
        yield Statement("reverted", f"{were} made and taken back within the range", taken_back)
    yield from (Note(sentence(inert(remark))) for remark in facts.remarks)
