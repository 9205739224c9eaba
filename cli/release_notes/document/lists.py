"""Statements of changes, and their distribution over lists."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cli.release_notes.document.model import Block, Section, SectionName, Statement
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import bare, capitalised, counted, joined
from cli.release_notes.facts import Change, ChangeKind
from tools.text.inline import code_words
from tools.text.plain import first_sentence, one_line, plain

TEXT_LIMIT = 240
DETAILS_LIMIT = 8_000
SAID_LIMIT = 280
AREAS = 3
SECTION_OF: dict[ChangeKind, SectionName] = {
    "feature": "features",
    "improvement": "improvements",
    "performance": "improvements",
    "deprecation": "improvements",
    "removal": "improvements",
    "other": "improvements",
    "fix": "fixes",
    "security": "fixes",
    "documentation": "other",
    "dependency": "other",
    "internal": "other",
}
_LEADS: dict[ChangeKind, str] = {"security": "Security", "deprecation": "Deprecated"}
NOT_ASKED_FOR = "None of those that were asked for."
HEADINGS: tuple[tuple[SectionName, str, str], ...] = (
    ("features", "Features", "No new features."),
    ("improvements", "Improvements", "No improvements."),
    ("fixes", "Fixes", "No fixes."),
    ("other", "Also changed", "Nothing else."),
)
_OTHER: tuple[tuple[ChangeKind, str, str | None], ...] = (
    ("documentation", "documentation change", None),
    ("dependency", "dependency update", None),
    ("internal", "internal change", None),
)


_FOLDED = re.compile(r"Updated (\d[\d,]{0,8}) (?:development )?dependencies\b")
_ITEM = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s+")
_REFERENCE = r"(?:(?:[\w./-]+)?#\d+|(?:GH|[A-Z]{2,9})-\d+|https?://\S+|@[\w-]+)"
_REFERENCES = re.compile(
    rf"\W*(?:refs?|references|see(?: also)?|close[sd]?|fix(?:e[sd])?|resolve[sd]?|cc|related(?: to)?|part of)"
    rf"[:\s]+(?:(?:issue|pr|pull request)s?\s+)?{_REFERENCE}(?:(?:[,;\s]|\band\b)+{_REFERENCE})*[.\s]*",
    re.IGNORECASE,
)
"""A line of references only."""
_MAKING = re.compile(
    r"""
    ^\W* (?: pre-?commit | wip\b | typo | lint | format(?:ting)?\b | nits?\b | oops | cleanup | continue\b | bump\b
    | merge\ (?:branch|remote|pull) | apply\ suggestions? | revert\ \S+$
    | (?:address|respond\ to|review)\b .* \b(?:comment|feedback|review)
    | fix(?:e[sd])?\ (?:the\ |redundant\ )? (?: tests? | ci | lint\w* | typos? | mypy | ruff | types? | imports? )\b
    | (?:add|update|fix)\w*\ (?:the\ )? (?: tests?\b | changelog | \S+\.(?:py|md|rst)$ )
    ) | auto\ fixes | changelog | co-authored-by
    """,
    re.VERBOSE,
)
"""A commit list entry about the pull request itself."""


Lists = Mapping[SectionName, Sequence[tuple[str, Change]]]
"""Changes of each list with their ids, in display order."""


def share_out(changes: Sequence[tuple[str, Change]]) -> Lists:
    of: dict[SectionName, list[tuple[str, Change]]] = {}
    for each in changes:
        # What only takes something away is news of the section on what breaks.
        if not (each[1].breaking and each[1].kind == "removal"):
            of.setdefault(SECTION_OF[each[1].kind], []).append(each)
    return of


def sections(lists: Lists, preset: Preset, *, leaves_out: bool) -> Iterable[Section]:
    """Yield a section for each list. Empty ones are omitted if changes are left out."""
    for name, heading, empty in HEADINGS:
        changes = lists.get(name, ())
        blocks = _others(changes, preset) if name == "other" else _listed(name, changes, preset)
        yield Section(name, heading, blocks, NOT_ASKED_FOR if leaves_out else empty, level=3)


def statement(identity: str, change: Change, preset: Preset) -> Statement:
    return Statement(
        identity,
        said(change),
        change.commits,
        lead(change, preset),
        _told(change) if preset.details == "paragraphs" else "",
        change.pull_request,
        areas=tuple(one_line(area, 60) for area in change.areas[:AREAS] if area != ".") if preset.surface else (),
    )


def highlight(identity: str, change: Change, preset: Preset) -> Statement:
    """Make a statement that stands out; unless terse, with a second sentence."""
    details = "" if preset.terse else besides(change)
    number = change.pull_request
    return Statement(f"h-{identity}", said(change), change.commits, "", details, number, stands_out=True)


def besides(change: Change) -> str:
    """Return a second sentence about a change; empty if none can stand alone."""
    paragraphs = _told(change).split("\n\n")[0], plain(change.breaking_note or "")
    more = first_sentence(one_line(next(filter(_is_prose, paragraphs), "")))
    is_whole = 0 < len(more) <= SAID_LIMIT and not more.endswith(":")
    return more if is_whole and bare(more).casefold() != said(change).casefold() else ""


def said(change: Change) -> str:
    return capitalised(bare(one_line(change.text, TEXT_LIMIT))) or "A change without a message"


def lead(change: Change, preset: Preset) -> str:
    marks = ["Breaking"] if change.breaking else []
    marks += [_LEADS[change.kind]] if change.kind in _LEADS else []
    scope = one_line(change.scope or "", 40) if preset.scopes else ""
    return ", ".join([*marks, *([scope] if scope else [])])


def _listed(name: str, changes: Sequence[tuple[str, Change]], preset: Preset) -> tuple[Block, ...]:
    shown = [statement(identity, change, preset) for identity, change in changes[: preset.listed]]
    rest = [change.commits for _, change in changes[preset.listed :]]
    return (*shown, and_more(f"{name}-rest", rest, "more, in the full changelog")) if rest else tuple(shown)


def and_more(identity: str, rest: Sequence[tuple[str, ...]], what: str = "more") -> Statement:
    commits = tuple(dict.fromkeys(sha for each in rest for sha in each))
    return Statement(identity, f"… and {len(rest):,} {what}", commits, is_counted=True)


def _others(changes: Sequence[tuple[str, Change]], preset: Preset) -> tuple[Block, ...]:
    brief = replace(preset, details="none")
    shown = [statement(identity, change, brief) for identity, change in changes[: preset.other]]
    rest = [change for _, change in changes[preset.other :]]
    parts = []
    for kind, one, many in _OTHER:
        if them := [change for change in rest if change.kind == kind]:
            number = sum(_updates(change) for change in them) if kind == "dependency" else len(them)
            parts.append(counted(number, one, many))
    if not parts:
        return tuple(shown)
    commits = tuple(dict.fromkeys(sha for change in rest for sha in change.commits))
    text = f"{'… and ' if shown else ''}{joined(parts)}"
    return (*shown, Statement("other-rest", text, commits, is_counted=True))


def _updates(change: Change) -> int:
    found = _FOLDED.match(change.text)
    return int(found[1].replace(",", "")) if found else 1


def _told(change: Change) -> str:
    said_already = {said(change).casefold()}
    kept: list[str] = []
    drops = False
    for line in _of_one_commit(plain(change.details)[:DETAILS_LIMIT].strip("\n").split("\n")):
        item = _ITEM.match(line)
        if item:
            text = bare(line[item.end() :].strip()).casefold()
            drops = text in said_already or _MAKING.search(text) is not None or len(text.split()) < 3
            said_already.add(text)
        elif not line.startswith(" "):
            drops = False  # an item goes with the lines that continue it
        if not drops and not _REFERENCES.fullmatch(line):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _of_one_commit(lines: list[str]) -> list[str]:
    if not lines[0].startswith("* "):
        return lines
    bodies: list[list[str]] = []
    for line in lines:
        if line.startswith("* "):
            bodies.append([])
        elif not line.startswith("---"):
            bodies[-1].append(line)
    return next((body for body in bodies if any(map(str.strip, body))), [])


def _is_prose(paragraph: str) -> bool:
    line = paragraph.strip()
    return (
        bool(line) and not line.startswith(("-", "*", "+", ">", "|", "`", "#", "$")) and len(list(code_words(line))) < 8
    )
