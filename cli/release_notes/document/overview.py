"""The overview without a language model: counts, and the main areas."""

import re
from collections.abc import Iterator, Sequence

from cli.release_notes.document.links import shortened, span_of
from cli.release_notes.document.lists import Lists
from cli.release_notes.document.model import Note, SectionName
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import capitalised, counted, day, joined, spelled
from cli.release_notes.facts import Change, ReleaseFacts
from cli.release_notes.focus import Focus
from tools.text.inline import code, inert
from tools.text.plain import one_line

NAME_LIMIT = 120
AREAS = 3
_BESIDE = re.compile(r"\.|\..*|tests?|testing|__tests__|signatures", re.I)
AREA_SHARE = 0.1
_NAMED: tuple[tuple[SectionName, str, str | None], ...] = (
    ("features", "feature", None), ("improvements", "improvement", None), ("fixes", "fix", "fixes"),
)  # fmt: skip


def overview(facts: ReleaseFacts, lists: Lists, preset: Preset, focus: Focus) -> tuple[Note, ...]:
    """Return a paragraph on the contents, and one on what was asked for first, if anything."""
    sentences = [_consists_of(facts, lists, preset), *_breaks(facts.changes)]
    if not preset.terse:
        sentences += _where(facts)
    notes = [Note(" ".join(sentences))]
    asked = " ".join(_asked(facts, focus))
    return (*notes, Note(asked)) if asked else tuple(notes)


def title(facts: ReleaseFacts) -> str:
    name, version = one_line(facts.project_name or "", NAME_LIMIT), one_line(facts.version, NAME_LIMIT)
    return version if not name or version.casefold().startswith(name.casefold()) else f"{name} {version}"


def _consists_of(facts: ReleaseFacts, lists: Lists, preset: Preset) -> str:
    parts = [counted(number, one, many) for name, one, many in _NAMED if (number := len(lists.get(name, ())))]
    brings = f"brings {joined(parts)}" if parts else "changes nothing that users would notice"
    people = f" by {counted(len(facts.contributors), 'person', 'people')}" if facts.contributors else ""
    since = f" since {code(shortened(facts.from_ref))}"
    span = "" if preset.terse else _span(facts)
    commits = f"{counted(len(facts.commits), 'commit')} ({span_of(facts)})"
    is_named = facts.version.casefold() != "unreleased"
    what = inert(title(facts)) if is_named else f"The next release of {inert(facts.project_name or 'the project')}"
    return f"{what} {brings}, in {commits}{people}{since}{span}."


def _span(facts: ReleaseFacts) -> str:
    days = sorted(day(commit.committed_at) for commit in facts.commits.values())
    return f" ({days[0]} to {days[-1]})" if days and days[0] != days[-1] else ""


def _breaks(changes: Sequence[Change]) -> Iterator[str]:
    number = sum(change.breaking for change in changes)
    if number:
        are = "change is" if number == 1 else "changes are"
        yield (
            f"{capitalised(spelled(number))} {are} breaking: "
            "read [Breaking changes](#breaking-changes) before you upgrade."
        )


def _where(facts: ReleaseFacts) -> Iterator[str]:
    least = max(2, AREA_SHARE * len(facts.commits))
    worth = [area for area in facts.areas if area.commits >= least and not _BESIDE.fullmatch(area.name)]
    areas = sorted(worth, key=lambda area: (area.commits, area.insertions + area.deletions), reverse=True)[:AREAS]
    if len(areas) > 1:
        named = [f"{code(area.name)} ({counted(area.commits, 'commit')})" for area in areas[:1]]
        named += [f"{code(area.name)} ({area.commits:,})" for area in areas[1:]]
        yield f"Most of the work went into {joined(named)}."


def _asked(facts: ReleaseFacts, focus: Focus) -> Iterator[str]:
    found = focus.found(facts.changes)
    first = [word for word in focus.first if found[word]]
    out = [word for word in focus.left_out if found[word]]
    if first:
        only = (
            "These notes list only what concerns" if focus.alone else "These notes begin each list with what concerns"
        )
        yield f"{only} {joined([inert(word) for word in first])}."
    if out:
        yield f"They leave out what concerns {joined([inert(word) for word in out])}."
