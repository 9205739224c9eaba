"""The contributors section: people first, bots apart, no addresses."""

from collections.abc import Sequence

from cli.release_notes.document.links import span_of
from cli.release_notes.document.model import Note, Section
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import counted, joined
from cli.release_notes.facts import Contributor, ReleaseFacts
from tools.text.inline import inert
from tools.text.plain import one_line

NAME_LIMIT = 80


def contributors(facts: ReleaseFacts, preset: Preset) -> Section:
    people, bots, notes = facts.contributors, facts.bots, list[Note]()
    if people:
        names = [_name(each) if preset.terse else _with_count(each, is_first=not n) for n, each in enumerate(people)]
        notes.append(Note(f"Thanks to {_some(names, preset.people)}, for {span_of(facts)}."))
    new = [_name(each) for each in people if each.is_new]
    if new and len(new) < len(people) and not preset.terse:
        notes.append(Note(f"First contributions by {_some(new, preset.people)}: welcome!"))
    if bots and not preset.terse:
        notes.append(Note(f"Automated: {_some([_with_count(each) for each in bots], preset.people)}."))
    return Section("contributors", "Contributors", tuple(notes), "Nobody is named in these commits.")


def _some(names: Sequence[str], named: int) -> str:
    rest = len(names) - named
    return joined([*names[:named], f"{rest:,} more"] if rest > 0 else names)


def _name(contributor: Contributor) -> str:
    return inert(one_line(contributor.person.name, NAME_LIMIT)) or "somebody without a name"


def _with_count(contributor: Contributor, *, is_first: bool = False) -> str:
    number = counted(contributor.commits, "commit") if is_first else f"{contributor.commits:,}"
    return f"{_name(contributor)} ({number})"
