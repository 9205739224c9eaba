"""Sections "Breaking changes" and "Migration guide"."""

import re
from collections.abc import Iterable, Iterator, Sequence

from cli.release_notes.document.lists import TEXT_LIMIT, besides, lead, said
from cli.release_notes.document.model import Block, Section, Statement
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import counted, joined
from cli.release_notes.facts import Change, DependencyChange, ReleaseFacts, SurfaceChange
from tools.text.plain import first_sentence, one_line, plain

_STEP = re.compile(
    r"^(?:please |instead,? |to migrate,? )?(?:add|call|change|convert|delete|drop|import|install|migrate|move|pass|"
    r"pin|regenerate|remove|rename|replace|re-?run|run|set|switch|upgrade|use|wrap) "
    r"|\b(?:must|need to|have to|should) now\b|\binstead\b|\byou (?:must|need to|have to|should)\b",
    re.IGNORECASE,
)
MIGRATIONS_NAMED = 3
NOTE_LIMIT = 800
_PLATFORMS = {"python": "Python", "node": "Node.js", "go": "Go", "rust": "Rust", "php": "PHP", "ruby": "Ruby"}


def breaking(changes: Sequence[tuple[str, Change]], preset: Preset) -> Section:
    blocks = tuple(_broken(identity, change, preset) for identity, change in changes if change.breaking)
    return Section("breaking", "Breaking changes", blocks, "Nothing is known to break.")


def migration(facts: ReleaseFacts, changes: Sequence[tuple[str, Change]]) -> Section:
    blocks: list[Block] = [*_steps(changes)]
    blocks += _platforms(facts.dependencies)
    blocks += _schema(facts.surface)
    return Section("migration", "Migration guide", tuple(blocks), "Nothing has to be done.")


def _broken(identity: str, change: Change, preset: Preset) -> Statement:
    note = plain(change.breaking_note or "").strip() or besides(change)
    text = said(change)
    if one_line(note).rstrip(".").casefold() == text.casefold():
        note = ""
    mark = lead(change, preset).removeprefix("Breaking").removeprefix(", ")
    details = first_sentence(one_line(note)) if preset.terse else note[:NOTE_LIMIT]
    return Statement(
        f"b-{identity}", text, change.commits, mark, details, change.pull_request,
        stands_out=True,
    )  # fmt: skip


def _steps(changes: Sequence[tuple[str, Change]]) -> Iterator[Statement]:
    broken = [(identity, change) for identity, change in changes if change.breaking or change.migration]
    silent: list[Change] = []
    for identity, change in broken:
        steps = plain(change.migration or "").strip() or _steps_in(change.breaking_note or "")
        if not steps:
            silent.append(change)
            continue
        yield Statement(
            f"m-{identity}", said(change), change.commits, details=steps[:NOTE_LIMIT * 2],
            pull_request=change.pull_request, stands_out=True,
        )  # fmt: skip
    if silent:
        others = "other " if len(silent) < len(broken) else ""
        them = f"the {others}breaking change" if len(silent) == 1 else f"the {len(silent)} {others}breaking changes"
        commits = tuple(dict.fromkeys(sha for change in silent for sha in change.commits))
        yield Statement(
            "m-silent",
            f"The commits name no steps for {them}: check what you use of {'it' if len(silent) == 1 else 'them'}",
            commits,
            is_counted=True,
        )


def _steps_in(note: str) -> str:
    sentences = re.split(r"(?<=[.!])\s+(?=[A-Z`])", one_line(note))
    return " ".join(each for each in sentences if _STEP.search(each))[:NOTE_LIMIT]


def _platforms(dependencies: Iterable[DependencyChange]) -> Iterator[Statement]:
    for each in dependencies:
        if each.ecosystem == "runtime" and each.before and each.after:
            name = _PLATFORMS.get(each.name, each.name)
            text = f"{name} `{_name(each.after)}` is needed; before, it was `{_name(each.before)}`"
            yield Statement(f"m-{each.name}", text, each.commits, is_counted=True)


def _schema(surface: Iterable[SurfaceChange]) -> Iterator[Statement]:
    new = [each for each in surface if each.kind == "migration" and each.change == "added"]
    if new:
        paths = [f"`{one_line(each.path, TEXT_LIMIT).replace('`', chr(39))}`" for each in new]
        more = [f"{len(new) - MIGRATIONS_NAMED:,} more"] if len(new) > MIGRATIONS_NAMED else []
        text = f"Run the {counted(len(new), 'new database migration')}: {joined([*paths[:MIGRATIONS_NAMED], *more])}"
        commits = tuple(dict.fromkeys(sha for each in new for sha in each.commits))
        yield Statement("m-schema", text, commits, is_counted=True)


def _name(name: str) -> str:
    bare, parenthesis, _ = one_line(name, TEXT_LIMIT).replace("`", "'").partition("(")
    return f"{bare}()" if parenthesis else bare
