"""The project's own words for a version: new sections of its changelogs, and fragments of the next one."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cli.release_notes.analysis.changelog import Item, Section, Version, markdown_blocks, read_changelog, version_of
from cli.release_notes.analysis.message import BREAKING_TAG, is_nothing, take_prefix
from cli.release_notes.analysis.wording import role
from cli.release_notes.facts import ChangeKind
from cli.release_notes.words import letters

Reading = Callable[[str], str]
_INTERNAL = r"internal|\bmisc|\bchore|refactor|packag|contrib(?:utors?)?\b|trivial|depend|\bci\b|\btest|vendor"
_GROUPS: Mapping[ChangeKind, str] = {
    "deprecation": r"deprecat(?!.*\bremoved\b)",
    "removal": r"\bremov|breaking|incompatib|backwards?\b",
    "security": r"secur|vulnerab",
    "fix": r"fix|bug",
    "performance": r"\bperf",
    "documentation": r"\bdoc",
    "internal": _INTERNAL,
    "feature": r"\badd(?:ed|itions?)?\b|\bnew\b|feature|\bfeat\b",
    "improvement": r"chang|improv|enhanc|minor|polish",
}
_BREAKING = re.compile(
    r"(?<!\bno )(?<!\bnon[ -])\bbreaking|backwards?[ -]?incompat|\bincompatib|^\W*(?:removed|removals?)\b|\bremoved$",
    re.I,
)
_PURPOSES = {
    "migration": re.compile(r"\bmigrat|\bupgrad(?:e|ing)\b(?! of)|\bactions? (?:needed|required)", re.I),
    "known issue": re.compile(r"\bknown (?:issues?|problems?|bugs?|limitations?)\b", re.I),
    "none": re.compile(r"contributors?$|\bthanks\b|\bprevious\b|\bcredits\b", re.I),
}
_NUMBER = r"(?:(?:[\w.-]+/[\w.-]+)?#\d+|GH-\d+|!\d+|`?[0-9a-f]{7,40}`?|@[\w-]+|/?\S+/\S+)"
_REFERENCE = rf"(?:(?:issues?|PRs?|closes|fix(?:es)?|refs?|see|by|thanks|via)\b:?\s*)*{_NUMBER}"
_TRAILING = re.compile(
    rf"\s*(?:[(\[]{{1,3}}\s*{_REFERENCE}(?:(?:\s*(?:[,;&/]|and)\s*|\s+){_REFERENCE})*\s*[)\]]{{1,3}}"
    rf"|,?\s+(?:closes|fixes|refs|by|thanks to|via)\s+{_NUMBER}(?:[\s,]+{_NUMBER})*|\s+--+\s+by .{{1,60}})[\s.\]]*$",
    re.I,
)
_LEADING = re.compile(
    r"^(?:\[?(?:#\d+|`?[0-9a-f]{7,40}`?)\]?[,\s]*)+(?:!\s*)?(?:Thanks \S+!\s*-\s*|[:\u2013\u2014-]\s*)"
)
_FRAGMENT = re.compile(
    r"(?:^|/)(?:newsfragments|changelogs?(?:\.d)?|changes(?:\.d)?|news|\.changes)/"
    r"\+?(?P<number>[\w-]+)\.(?P<type>[a-z_]+)(?:\.\d+)?(?:\.(?:rst|md|txt))?$",
    re.I,
)
_LABEL = re.compile(
    r"^\W*\bbreaking(?:[ -]changes?)?\s*(?:\*\*|[:\])\u2014-])\W*|\s*[(\[]\W*breaking(?:[ -]changes?)?\W*[)\]]\W*$",
    re.I,
)
_POINTER = re.compile(
    r"(?:^|(?<=[.!] ))See (?:also )?(?:the )?(?:`[^`]+`(?: and `[^`]+`)?|docs|documentation)(?: for [\w ]{4,20})?\.?$"
)
_CHANGESET = re.compile(r"(?:^|/)\.changeset/(?!readme)[^/]+\.md$", re.I)
_FRONT = re.compile(r"^---\s*\n(?P<front>.*?)\n---\s*\n(?P<body>.*)$", re.S)
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bcf\.)\s+(?=[A-Z`*])")


@dataclass(frozen=True, slots=True)
class Own:
    """An entry that the project wrote, at a `place` of file, version and headings; a `purpose` is of `_PURPOSES`."""

    text: str
    more: str
    kind: ChangeKind | None
    scope: str | None
    breaking: bool
    numbers: tuple[str, ...]
    shas: tuple[str, ...]
    path: str
    place: str
    purpose: str


def own_words(paths: Mapping[str, str], old: Reading, new: Reading, floor: str | None) -> Iterator[Own]:
    """Yield the entries for the newer end, once each; `paths` are files by status, `floor` is the older version."""
    changelogs = [path for path in sorted(paths, key=lambda path: (path.count("/"), path)) if role(path) == "changelog"]
    bases = {path: read_changelog(path, old(path)) for path in changelogs if paths[path] != "A"}
    known = {_key(item.text) for sections in bases.values() for each in sections if each.version for item in each.items}
    for path in changelogs:
        if paths[path] != "D" and (named := fragment(path)):
            yield from _fragment(path, new(path), *named)
        elif paths[path] != "D":
            before = bases.get(path, [])
            for section in _new_sections(path, before, read_changelog(path, new(path)), known, version_of(floor or "")):
                yield from _entries(section, path, known)


def fragment(path: str) -> tuple[ChangeKind | None, bool, str | None] | None:
    """Return the kind, whether it breaks, and the number that a fragment's name tells; None for another file."""
    match = None if _CHANGESET.search(path) else _FRAGMENT.search(path)
    kind, breaking = _classify(match["type"]) if match else (None, False)
    if not (kind or _CHANGESET.search(path)):
        return None
    return kind, breaking, f"#{match['number']}" if match and match["number"].isdigit() else None


def _new_sections(
    path: str, before: Sequence[Section], after: Sequence[Section], known: set[str], floor: Version | None
) -> Iterator[Section]:
    versions = {section.version for section in before if section.version}
    highest = max(versions, default=None)
    everything = known | {_key(item.text) for section in before for item in section.items}
    has_versions = any(section.version or section.unreleased for section in after)
    # The older version may be written down after its release. A file for each version is told from a page about
    # something else, and from fixes of an older line, by its number.
    later = {section.version for section in after if section.version and floor and section.version >= floor}
    is_past = floor in later and (len(later) > 1 or any(section.unreleased for section in after))
    if floor and (is_past or (not before and re.search(r"\d", path))):
        highest = max(highest or floor, floor)
    for section in after:
        version = section.version
        # What only this release fills may have been begun, or named, before.
        is_begun = section.unreleased or (version and version == highest and floor and version > floor)
        is_new = version and not section.unreleased and version not in versions and (not highest or version > highest)
        if is_new or is_begun or (not has_versions and "/" not in path):
            but = known if is_new else everything
            yield replace(section, items=[item for item in section.items if _key(item.text) not in but])


def _key(text: str) -> str:
    # A candidate of a version says what the version says.
    text = re.sub(r"(?<=\d)-?(?:alpha|beta|rc)\b[.\d]*", "", _TRAILING.sub("", text))
    return letters(text)


def _entries(section: Section, path: str, known: set[str]) -> Iterator[Own]:
    above = "breaking changes / " if re.search(r"breaking[-_]?changes", path, re.I) else ""
    for item in section.items:
        own = _own(item, path, *_classify(above + item.group), f"{path} {section.title} / {item.group}")
        telling = own.purpose != "none" and (not item.prose or own.breaking or own.purpose != "change")
        says = not (is_nothing(own.text) or own.text.startswith(("Full Changelog", "Updated dependencies")))
        if telling and says and _key(own.text) not in known:
            known.add(_key(own.text))
            yield own


def _own(item: Item, path: str, kind: ChangeKind | None, breaking: bool, place: str) -> Own:
    whole = "\n".join((item.text, *item.more))
    labelled = re.sub(r"^\*\*([^*]{1,60}?):?\*\*:?(?<=:\*\*|\*\*:)\s*", r"\1: ", _LEADING.sub("", item.text.strip()))
    prefixed = take_prefix(labelled)
    text = _bare(_LABEL.sub("", prefixed.text))
    named = None if prefixed.kind == "other" else prefixed.kind
    marked = prefixed.declared or bool(BREAKING_TAG.match(prefixed.scope or "") or _LABEL.search(item.text))
    first, *rest = SENTENCE_END.split(text, maxsplit=1)
    parts = [*filter(None, map(_bare, (*rest, *item.more))), ""]
    # What led to code, or to references alone, leads nowhere.
    told = (part for part, below in pairwise(parts) if not part.endswith(":") or below.startswith("- "))
    more = "\n\n".join(part for part in told if not part.startswith("-- by "))
    numbers = re.findall(r"(?:(?<![\w/])#|\bGH-|!)(\d{1,7})\b", whole)
    return Own(
        first if first.endswith("..") else first.rstrip(".:"), re.sub(r"\n\n(?=- )", "\n", more), named or kind,
        None if marked and not named else prefixed.scope, breaking or marked,
        numbers=tuple(dict.fromkeys(f"#{each}" for each in numbers)),
        shas=tuple(dict.fromkeys(re.findall(r"(?<![\w/])[0-9a-f]{7,40}(?![\w/])", whole))), path=path, place=place,
        purpose=next((purpose for purpose, pattern in _PURPOSES.items() if pattern.search(item.group)), "change"),
    )  # fmt: skip


def _bare(text: str) -> str:
    text = _POINTER.sub("", text.replace("**", "")).strip()
    while (shorter := _TRAILING.sub("", text)) and shorter != text:
        text = shorter
    return text


def _classify(group: str) -> tuple[ChangeKind | None, bool]:
    # The nearest heading decides; below one of breaking changes, all but deprecations break.
    titles = group.split(" / ")[::-1]
    found = (kind for title in titles for kind, pattern in _GROUPS.items() if re.search(pattern, title, re.I))
    kind = next(found, None)
    return kind, kind != "deprecation" and any(map(_BREAKING.search, titles))


def _fragment(path: str, text: str, kind: ChangeKind | None, breaking: bool, number: str | None) -> Iterator[Own]:
    if front := _FRONT.match(text.strip() + "\n"):
        bumps = re.findall(r":\s*[\"']?(major|minor|patch)\b", front["front"])
        kind, breaking = ("fix" if {*bumps} <= {"patch"} else None), "major" in bumps
        texts = [block.text for block in markdown_blocks(front["body"]) if block.text and block.kind != "code"]
    else:
        item = "* " + "\n  ".join(text.strip().splitlines())
        sections = read_changelog(path if path.endswith((".rst", ".txt")) else f"{path}.md", item)
        texts = [words for section in sections for each in section.items for words in (each.text, *each.more)]
    if texts:
        own = _own(Item(texts[0], "", texts[1:]), path, kind, breaking, path)
        numbers = dict.fromkeys(filter(None, (number, *own.numbers)))
        yield replace(own, numbers=tuple(numbers))
