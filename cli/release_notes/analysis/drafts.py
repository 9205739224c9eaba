"""Draft of a change, and its evidence from the touched files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.breaking import (
    drops_support,
    is_declared,
    is_harmless,
    names_in,
    note_in,
    sounds_breaking,
)  # fmt: skip
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.message import Message
from cli.release_notes.analysis.paths import area, is_published, role
from cli.release_notes.analysis.wording import kind_of, sounds_internal
from cli.release_notes.facts import Change, ChangeKind, Person

_NO_SOURCE = frozenset({"manifest", "lock", "tooling", "test", "documentation"})
_GUIDE = re.compile(
    r"(?:^|/)(?:upgrad(?:e|ing)|migrat(?:e|ing|ion))(?:[-_ ](?:guide|notes?|from|to)[\w.-]*|[-_]?v?\d[\w.]*)?"
    r"\.(?:md|rst|txt|adoc|markdown)$|(?:^|/)(?:docs?/)(?:[\w-]+/)?upgrad(?:e|ing)/[\w./-]+\.(?:md|rst|txt|adoc)$",
    re.I,
)
_STEP = re.compile(
    r"\b(?:use|replace|instead|rename|call|pass|set|must|need(?:s|ed)? to|ha(?:ve|s) to|should|migrate|switch|upgrade"
    r"|add|(?<!breaking )change|import|install|run|see|remove)\b",
    re.I,
)
_TOLD_YOU = re.compile(
    r"^(?=.*\b(?:instead|yours?|yourself)\b)(?:please |instead,? |to migrate,? )?"
    r"(?:add|call|change|import|install|migrate|pass|pin|remove|rename|replace|run|set|switch|upgrade|use|wrap) "
    r"|\byou (?:must|need to|have to|should)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`])")
_MOST_TOLD = 5


@dataclass(slots=True)
class Draft:
    """A change and its evidence. `files` counts files by role; `evidence` is added to the weight of its kind."""

    message: Message
    kind: ChangeKind
    entries: list[Entry]
    breaking: bool = False
    declared: bool = False
    breaking_note: str | None = None
    files: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, float] = field(default_factory=dict)
    text: str | None = None

    @property
    def paths(self) -> list[str]:
        return [path for entry in self.entries for path in entry.touched.paths]

    @property
    def is_published(self) -> bool:
        return not self.files or any(is_published(path) for path in self.paths)

    def _migration(self) -> str | None:
        message = self.message
        new = _guides(path for entry in self.entries for path in entry.touched.added)
        read = _pointer(_guides(self.paths) if self.breaking else new)
        if message.migration or not self.breaking:
            return message.migration or read
        note = self.breaking_note or message.breaking_note
        if note and _says_a_step(note):
            return None
        return " ".join(filter(None, (_told_in(message.details), read))) or None

    def change(self, impact: float) -> Change:
        message = self.message
        return Change(
            kind=self.kind,
            scope=message.scope,
            text=self.text or message.text,
            details=message.details,
            commits=tuple(dict.fromkeys(entry.sha for entry in self.entries)),
            breaking=self.breaking,
            breaking_note=self.breaking_note or message.breaking_note,
            migration=self._migration(),
            pull_request=message.pull_request,
            issues=message.issues,
            areas=_areas(self.paths),
            impact=impact,
            people=_people(self.entries),
        )


def draft(message: Message, entries: Sequence[Entry]) -> Draft:
    """Make a draft of a message and its commits, the most telling commit first."""
    files: dict[str, int] = {}
    for entry in entries:
        for path in entry.touched.paths:
            kind = role(path)
            files[kind] = files.get(kind, 0) + 1
    made = Draft(message, message.kind, list(entries), files=files)
    made.kind = _kind(made)
    _judge(made, [entry.commit.body for entry in entries])
    return made


def _kind(made: Draft) -> ChangeKind:
    message, files = made.message, made.files
    roles = set(files) - {"changelog"} if len(files) > 1 else set(files)
    aside = _aside(message, roles)
    if aside is not None:
        return aside
    if message.conventional:
        prose = kind_of(message.text)
        return prose if message.kind == "internal" and prose in ("security", "deprecation") else message.kind
    noted = bool(files.get("changelog"))
    if roles and roles <= _NO_SOURCE and message.kind != "security" and not (noted and files.get("manifest")):
        return "removal" if drops_support(message.text) else "internal"
    if message.kind not in ("security", "deprecation", "documentation") and _is_tidying(message):
        if not (noted and made.is_published):
            return "internal"
        return "improvement" if message.kind == "feature" else message.kind
    return _silent(made) if message.kind == "other" and files else message.kind


def _aside(message: Message, roles: set[str]) -> ChangeKind | None:
    if message.is_chore or (roles and roles <= {"test", "tooling", "changelog"}):
        return "internal"
    if roles and roles <= {"documentation", "example", "test", "tooling", "changelog"}:
        return "documentation" if message.kind != "internal" else "internal"
    return "dependency" if roles == {"lock"} and not message.conventional else None


def _is_tidying(message: Message) -> bool:
    return sounds_internal(message.text) or (message.kind == "removal" and is_harmless(message.text))


def _silent(made: Draft) -> ChangeKind:
    published = {path for path in made.paths if is_published(path)}
    if not published:
        return "other"
    documented = made.files.get("documentation") or made.files.get("changelog")
    if documented and names_in(made.message.text):
        return "feature"
    fresh = any(path in published for entry in made.entries for path in entry.touched.added)
    return "improvement" if documented or fresh else "other"


def _judge(made: Draft, bodies: Sequence[str]) -> None:
    message = made.message
    roles = set(made.files) - {"changelog"}
    aside = bool(made.files) and roles <= {"documentation", "test", "tooling", "example"}
    if message.marked or (not aside and any(is_declared(message, body) for body in bodies[:60])):
        made.breaking = made.declared = True
        if message.breaking_note is None:
            made.breaking_note = next(filter(None, map(note_in, bodies[:60])), None)
        return
    if aside or message.is_chore:
        return
    dropped = drops_support(message.text) and (made.is_published or bool(made.files.get("manifest")))
    documented = made.files.get("changelog") or made.files.get("documentation")
    made.breaking = dropped or (made.is_published and bool(documented) and sounds_breaking(message))
    if made.breaking and made.kind in ("internal", "other"):
        made.kind = "removal" if drops_support(message.text) else "improvement"


def _areas(paths: Iterable[str]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    everything = list(paths)
    for path in [path for path in everything if is_published(path)] or everything:
        name = area(path)
        counts[name] = counts.get(name, 0) + 1
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:5])


def _people(entries: Iterable[Entry]) -> tuple[Person, ...]:
    found = (person for entry in entries for person in (entry.commit.author, *entry.commit.co_authors))
    return tuple(dict.fromkeys(person for person in found if not person.is_bot))


def _says_a_step(note: str) -> bool:
    return bool(_STEP.search(note))


def _told_in(details: str) -> str | None:
    prose = (" ".join(paragraph.split()) for paragraph in details.split("\n\n") if not paragraph.startswith("    "))
    told = [each for paragraph in prose for each in _SENTENCES.split(paragraph) if _TOLD_YOU.search(each)]
    return " ".join(told[:_MOST_TOLD]) or None


def _guides(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in paths if _GUIDE.search(path)))[:3]


def _pointer(found: Iterable[str]) -> str | None:
    named = " and ".join(f"`{path}`" for path in found if "`" not in path)
    return f"See {named}." if named else None
