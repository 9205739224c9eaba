"""Section for developers: database migrations, moved files, dependencies, areas."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from cli.release_notes.document.links import span_of
from cli.release_notes.document.lists import and_more
from cli.release_notes.document.model import Block, Heading, Note, Section, Statement, Table
from cli.release_notes.document.wording import counted
from cli.release_notes.facts import DependencyChange, ReleaseFacts, SurfaceChange
from tools.text.inline import code, inert
from tools.text.plain import one_line

LISTED, AREAS = 40, 16
NAME_LIMIT = 160
_KINDS = (("migration", "Database migrations"), ("moved", "Moved files"))
_ORDER = ("removed", "renamed", "changed", "added")


def surface(facts: ReleaseFacts) -> Section:
    blocks: list[Block] = []
    for kind, heading in _KINDS:
        found = sorted((each for each in facts.surface if each.kind == kind), key=_place)
        if found:
            blocks += [Heading(heading), *_listed(kind, found)]
    blocks += _dependencies(facts.dependencies)
    blocks += _areas(facts)
    return Section("surface", "Dependencies and files", tuple(blocks), "Nothing of this kind changed.", level=3)


def _place(change: SurfaceChange) -> tuple[int, str]:
    return _ORDER.index(change.change), change.name


def _listed(kind: str, found: Sequence[SurfaceChange]) -> Iterator[Block]:
    for number, each in enumerate(found[:LISTED]):
        yield Statement(f"t-{kind}{number}", _text(each), each.commits, lead=each.change.capitalize(), is_counted=True)
    if rest := [each.commits for each in found[LISTED:]]:
        yield and_more(f"t-{kind}-rest", rest)


def _text(change: SurfaceChange) -> str:
    name, before = _name(change.name), _name(change.before or "")
    if change.kind == "moved" or change.change == "renamed":
        return f"`{before}` to `{name}`" if before else f"`{name}`"
    where = "" if change.name in ("", change.path) else f" in `{_name(change.path)}`"
    was = f", before `{before}`" if before and before != name and change.change == "changed" else ""
    return f"`{name}`{was}{where}"


def _name(name: str) -> str:
    return one_line(name, NAME_LIMIT).replace("`", "'")


def _dependencies(dependencies: Sequence[DependencyChange]) -> Iterator[Block]:
    if not dependencies:
        return
    ordered = sorted(dependencies, key=lambda each: (each.development, each.ecosystem, each.name, each.path))
    rows, commits = [], []
    for _, same in groupby(ordered, key=lambda each: (each.development, each.ecosystem, each.name)):
        files = list(same)
        first = files[0]
        commits.append(tuple(dict.fromkeys(sha for each in files for sha in each.commits)))
        rows.append(
            (
                code(first.name),
                code(first.before or "") or "new",
                code(first.after or "") or "removed",
                _needed_for(first),
                inert(first.ecosystem),
            )
        )
    yield Heading("Dependencies")
    header = ("Dependency", "Before", "Now", "Needed for", "Ecosystem")
    yield Table(header, tuple(rows[:LISTED]), tuple(commits[:LISTED]))
    if rest := commits[LISTED:]:
        yield and_more("t-dependencies-rest", rest)


def _needed_for(dependency: DependencyChange) -> str:
    # What a submodule holds may be anything.
    unknown = dependency.ecosystem == "submodule"
    return "" if unknown else "development" if dependency.development else "use"


def _areas(facts: ReleaseFacts) -> Iterator[Block]:
    areas = sorted(facts.areas, key=lambda area: (-area.commits, area.name))[:AREAS]
    if areas:
        yield Heading("Where the work went")
        rows = [
            (
                code(area.name) if area.name != "." else "top folder",
                f"{area.commits:,}",
                f"{area.files:,}",
                f"+{area.insertions:,} -{area.deletions:,}",
            )
            for area in areas
        ]
        yield Table(("Area", "Commits", "Files", "Lines"), tuple(rows))
        more = len(facts.areas) - len(areas)
        rest = f"… and {counted(more, 'more area')}; counted" if more else "Counted"
        yield Note(f"{rest} over {span_of(facts)}.")
