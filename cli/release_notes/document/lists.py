"""Statements of changes, and their distribution over sections: each change stands in one."""

import re
from collections.abc import Iterable, Mapping, Sequence

from cli.release_notes.document.model import (
    Section,
    SectionName,
    Statement,
    bare,
    capitalised,
    counted,
    joined,
    sentence,
)
from cli.release_notes.document.presets import Preset
from cli.release_notes.facts import Change, ChangeKind
from tools.text.inline import code_words
from tools.text.plain import first_sentence, one_line, plain

TEXT_LIMIT, DETAILS_LIMIT, NOTE_LIMIT = 400, 8_000, 1_200
SECTION_OF: dict[ChangeKind, SectionName] = {
    "feature": "features", "improvement": "improvements", "performance": "improvements", "deprecation": "improvements",
    "removal": "improvements", "other": "improvements", "fix": "fixes", "security": "fixes", "documentation": "other",
    "dependency": "other", "internal": "other",
}  # fmt: skip
_LEADS: dict[ChangeKind, str] = {"security": "Security", "deprecation": "Deprecated"}
NOT_ASKED_FOR = "None of those that were asked for."
HEADINGS: tuple[tuple[SectionName, str], ...] = (
    ("features", "Features"), ("improvements", "Improvements"), ("fixes", "Fixes"), ("other", "Also changed"),
)  # fmt: skip
_OTHER: tuple[tuple[ChangeKind, str], ...] = (
    ("documentation", "documentation change"), ("dependency", "dependency update"), ("internal", "internal change"),
)  # fmt: skip
Identified = tuple[str, Change]
Lists = Mapping[SectionName, Sequence[Identified]]
"""Changes of each section with their ids, in display order."""


def share_out(changes: Sequence[Identified], preset: Preset) -> Lists:
    of: dict[SectionName, list[Identified]] = {name: [] for name, _ in HEADINGS}
    for each in changes:
        of.setdefault("breaking" if each[1].breaking else SECTION_OF[each[1].kind], []).append(each)
    worth = [*of["features"], *of["improvements"]]
    telling = sorted((each for each in worth if _is_described(each[1])), key=lambda each: -each[1].impact)
    # Where nobody described any, those that most people had asked for.
    asked_for = sorted((each for each in of["features"] if each[1].issues), key=lambda each: -len(each[1].issues))
    # Of few changes, all would stand out: then none would.
    most = min(preset.highlights, (len(worth) + len(of["fixes"]) + 1) // 2)
    of["highlights"] = (telling or asked_for)[:most]
    for name in ("features", "improvements"):
        of[name] = [each for each in of[name] if each not in of["highlights"]]
    return of


def _is_described(change: Change) -> bool:
    is_new = change.kind in ("feature", "performance")
    if besides(change):
        return is_new or (change.own and change.kind == "improvement")
    return is_new and change.own and len(change.text.split()) > 14


def sections(lists: Lists, preset: Preset, *, leaves_out: bool) -> Iterable[Section]:
    """Yield a section for each list."""
    above = {SECTION_OF[change.kind] for _, change in lists["highlights"]}
    for name, heading in HEADINGS:
        empty = "All of them are among the highlights." if name in above else f"No {heading.lower()}."
        empty = NOT_ASKED_FOR if leaves_out else "Nothing else." if name == "other" else empty
        most = preset.other if name == "other" else preset.listed
        shown = [statement(identity, change, preset) for identity, change in lists[name][:most]]
        yield Section(
            name,
            heading,
            (*shown, *_rest(name, [change for _, change in lists[name][most:]], bool(shown))),
            empty,
            level=3,
        )


def _rest(name: SectionName, rest: Sequence[Change], is_more: bool) -> Iterable[Statement]:
    if rest:
        kinds = [(sum(change.kind == kind for change in rest), what) for kind, what in _OTHER]
        counts = (
            joined([counted(number, what) for number, what in kinds if number])
            if name == "other"
            else f"{len(rest):,} more"
        )
        commits = tuple(dict.fromkeys(sha for change in rest for sha in change.commits))
        yield Statement(f"{name}-rest", f"{'… and ' if is_more else ''}{counts}", commits)


def statement(identity: str, change: Change, preset: Preset) -> Statement:
    is_list = change.own and change.details.startswith("- ") and not preset.terse
    details = plain(change.details)[:DETAILS_LIMIT] if preset.details or is_list else ""
    more = besides(change) if change.own and not details and not preset.terse else ""
    text = bare(f"{sentence(said(change))} {more}") if more else said(change)
    return Statement(identity, text, change.commits, lead(change, preset), details, change.pull_request, change.issues)


def highlight(identity: str, change: Change, preset: Preset) -> Statement:
    """Make a statement that stands out; unless terse, with a second sentence."""
    details = plain(change.details)[:DETAILS_LIMIT] if preset.details else "" if preset.terse else besides(change)
    return Statement(
        f"h-{identity}", said(change), change.commits, "", details, change.pull_request, change.issues, True
    )


def broken(identity: str, change: Change, preset: Preset) -> Statement:
    note = plain(change.breaking_note or (change.details if change.own else "")).strip() or besides(change)
    note = "" if one_line(note).rstrip(".").casefold() == said(change).casefold() else note
    details = first_sentence(one_line(note)) if preset.terse else note[:NOTE_LIMIT]
    number, issues = change.pull_request, change.issues
    return Statement(f"b-{identity}", said(change), change.commits, lead(change, preset), details, number, issues, True)


def besides(change: Change) -> str:
    """Return a second sentence about a change; empty if none can stand alone."""
    for paragraph in (plain(change.details).split("\n\n")[0].strip(), plain(change.breaking_note or "").strip()):
        if paragraph and not re.match(r"[-*+>|`#$<]|\d+\.\s", paragraph) and len(list(code_words(paragraph))) < 8:
            more = first_sentence(one_line(paragraph))
            whole = len(more) <= TEXT_LIMIT and not more.endswith(":") and len(more.split()) > 3
            return more if whole and bare(more).casefold() != said(change).casefold() else ""
    return ""


def said(change: Change) -> str:
    text = bare(one_line(change.text, TEXT_LIMIT))
    return (text if text.split(" ", 1)[0] in change.names else capitalised(text)) or "A change without a message"


def lead(change: Change, preset: Preset) -> str:
    mark = None if change.breaking else _LEADS.get(change.kind)
    marks = [mark] if mark and mark[:8].casefold() not in change.text.casefold() else []
    scope = "" if preset.terse else one_line(change.scope or "", 40)
    return ", ".join([*marks, *([scope] if scope else [])])
