"""Draft the document from facts alone."""

from collections.abc import Sequence

from cli.release_notes.document import breaking, lists, technical
from cli.release_notes.document.installation import installation
from cli.release_notes.document.links import Web, link, shortened, span_of
from cli.release_notes.document.model import Block, Document, Note, Section, Statement
from cli.release_notes.document.overview import overview, title
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import counted, joined, sentence
from cli.release_notes.facts import Change, Contributor, ReleaseFacts
from cli.release_notes.focus import Focus
from tools.text.inline import code, inert
from tools.text.plain import one_line

NAME_LIMIT = 80
_UNSEEN = frozenset({"documentation", "dependency", "internal", "removal"})


def draft(facts: ReleaseFacts, preset: Preset, focus: Focus) -> Document:
    """Write the document without a language model."""
    places = {id(change): f"c{number}" for number, change in enumerate(facts.changes)}
    everything = [(places[id(change)], change) for change in facts.changes]
    chosen = [(places[id(change)], change) for change in focus.chosen(facts.changes)]
    leaves_out = len(chosen) < len(everything)
    parts = [
        Section("overview", "Overview", overview(facts, lists.share_out(everything), preset, focus)),
        _highlights(chosen, preset, leaves_out=leaves_out),
        Section("new", "What's new"),
        *lists.sections(lists.share_out(chosen), preset, leaves_out=leaves_out),
        *([technical.surface(facts)] if preset.surface else []),
        breaking.breaking(chosen, preset),
        breaking.migration(facts, chosen),
        installation(facts, preset),
        _known_issues(facts),
        _contributors(facts, preset),
        _changelog(facts, preset),
    ]
    web = Web.of(facts.remote_url, facts.commits)
    return Document(title(facts), facts.version, facts.released_at, tuple(parts), web)


def _highlights(chosen: list[tuple[str, Change]], preset: Preset, *, leaves_out: bool) -> Section:
    seen = [each for each in chosen if each[1].kind not in _UNSEEN]
    # Of few changes, all would stand out: then none would.
    number = min(preset.highlights, max(1, (len(seen) + 1) // 2))
    blocks = tuple(lists.highlight(identity, change, preset) for identity, change in seen[:number])
    empty = lists.NOT_ASKED_FOR if leaves_out else "Nothing stands out: this release is maintenance."
    return Section("highlights", "Highlights", blocks, empty)


def _known_issues(facts: ReleaseFacts) -> Section:
    blocks = tuple(
        Statement(f"k{number}", lists.said(change), change.commits, pull_request=change.pull_request)
        for number, change in enumerate(facts.known_issues)
    )
    return Section("known_issues", "Known issues", blocks, "None are recorded in these commits.")


def _contributors(facts: ReleaseFacts, preset: Preset) -> Section:
    people, bots, notes = facts.contributors, facts.bots, list[Note]()
    if people:
        names = [_name(each) if preset.terse else _with_count(each, is_first=not n) for n, each in enumerate(people)]
        notes.append(Note(f"Thanks to {_named(names, preset.people)}, for {span_of(facts)}."))
    new = [_name(each) for each in people if each.is_new]
    if new and len(new) < len(people) and not preset.terse:
        notes.append(Note(f"First contributions by {_named(new, preset.people)}: welcome!"))
    if bots and not preset.terse:
        notes.append(Note(f"Automated: {_named([_with_count(each) for each in bots], preset.people)}."))
    return Section("contributors", "Contributors", tuple(notes), "Nobody is named in these commits.")


def _named(names: Sequence[str], named: int) -> str:
    rest = len(names) - named
    return joined([*names[:named], f"{rest:,} more"] if rest > 0 else names)


def _name(contributor: Contributor) -> str:
    return inert(one_line(contributor.person.name, NAME_LIMIT)) or "somebody without a name"


def _with_count(contributor: Contributor, *, is_first: bool = False) -> str:
    number = counted(contributor.commits, "commit") if is_first else f"{contributor.commits:,}"
    return f"{_name(contributor)} ({number})"


def _changelog(facts: ReleaseFacts, preset: Preset) -> Section:
    span = f"{shortened(facts.from_ref)}...{shortened(facts.to_ref)}"
    commits = counted(len(facts.commits), "commit")
    where = (
        f"{link(code(span), facts.compare_url)}: all {commits}."
        if facts.compare_url
        else f"{code(f'git log {facts.from_ref}..{facts.to_ref}')} lists all {commits}."
    )
    blocks: list[Block] = [Note(where)]
    if facts.reverted and not preset.terse:
        number = len(facts.reverted)
        taken_back = tuple(dict.fromkeys(sha for change in facts.reverted for sha in change.commits))
        text = f"{counted(number, 'change was', 'changes were')} made and taken back within the range"
        blocks.append(Statement("reverted", text, taken_back, is_counted=True))
    blocks += [Note(sentence(inert(remark))) for remark in facts.remarks]
    return Section("changelog", "Full changelog", tuple(blocks))
