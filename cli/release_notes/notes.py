"""Write the notes of a release as Markdown. Texts of commits are untrusted: they pass `inert`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from textwrap import indent

from cli.release_notes.analysis.changelog import markdown_blocks
from cli.release_notes.configuration import Preset
from cli.release_notes.facts import Change, ChangeKind, ReleaseFacts
from cli.release_notes.project import install_command
from cli.release_notes.web import SHORT, Web
from cli.release_notes.words import bare, capitalised, counted, joined, sentence
from stores.language.wording import STOP_WORDS
from tools.text.inline import code, inert
from tools.text.plain import first_sentence, one_line, plain

NAME_LIMIT, TEXT_LIMIT, DETAILS_LIMIT, NOTE_LIMIT = 120, 400, 2_000, 1_200
MOST_DETAILS, MOST_ISSUES = 8, 6
LISTS: Mapping[str, str] = {
    "feature": "Features", "improvement": "Improvements", "performance": "Improvements", "deprecation": "Improvements",
    "removal": "Improvements", "other": "Improvements", "fix": "Fixes", "security": "Fixes",
    "documentation": "Also changed", "dependency": "Also changed", "internal": "Also changed",
}  # fmt: skip
_LEADS: Mapping[ChangeKind, str] = {"security": "Security", "deprecation": "Deprecated"}
_FOLDED = {
    "documentation": "documentation change", "dependency": "dependency update", "internal": "internal change",
}  # fmt: skip
_STEP = re.compile(
    r"^(?:[-*] )?(?:please |\w+ly )?(?:use|set) |\binstead\b|\b(?:users?|you) (?:must|need|have to|should|can|who)\b",
    re.I,
)


_CLAUSE = re.compile(r"[.;!?\n]+")
_WORD = re.compile(r"[^\W_](?:[\w.+#/-]*[\w+#])")
_LEFT_OUT = re.compile(
    r"(?<!\bnot )\b(?:without|skip|omit|exclude|ignore|hide|except|leave out|no|not|don't)\b(?! only| just| too)", re.I
)
_ALONE = re.compile(r"(?<!\bnot )\b(?:only|solely|exclusively|nothing but)\b", re.I)
_OF_INSTRUCTIONS = """
change changes cover detail details everything first focus give highlight include items keep list make matters mention
new note notes point put readers release say section tone use users using version want work write writing leave don't
"""
_STOP = frozenset((*STOP_WORDS, *_OF_INSTRUCTIONS.split()))
_KINDS = {"fixe": "fix", "bug": "fix", "speed": "performance", "doc": "documentation", "dependencie": "dependency"}


@dataclass(frozen=True, slots=True)
class Focus:
    """Parsed instructions: words to put `first` or leave out; `alone` hides all others."""

    first: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alone: bool = False
    asked: str = ""

    def chosen(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes to list, requested ones first; breaking ones always stay."""
        leads = {id(change) for change in changes if any(matches(word, change) for word in self.first)}

        def stays(change: Change) -> bool:
            unwanted = any(matches(word, change) for word in self.left_out)
            return change.breaking or not (unwanted or (self.alone and id(change) not in leads))

        return sorted(filter(stays, changes), key=lambda change: id(change) not in leads)

    def told(self, changes: Sequence[Change]) -> str:
        """Return the sentence about applied instructions, as Markdown; empty without a match."""
        first, out = (
            joined([inert(word) for word in words if any(matches(word, change) for change in changes)])
            for words in (self.first, self.left_out)
        )
        begin = f"These notes {'list only' if self.alone else 'begin each list with'} what concerns {first}."
        return " ".join(filter(None, [begin if first else "", f"They leave out what concerns {out}." if out else ""]))


def read_focus(instructions: str) -> Focus:
    clauses = [_LEFT_OUT.split(clause, maxsplit=1) for clause in _CLAUSE.split(instructions)]
    first, left_out = (_words(" ".join(clause[at] for clause in clauses if at < len(clause))) for at in (0, 1))
    return Focus(first, left_out, bool(first and _ALONE.search(instructions)), one_line(instructions))


def matches(word: str, change: Change) -> bool:
    stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    if stem == "breaking" or _KINDS.get(stem, stem) == change.kind:
        return change.breaking or stem != "breaking"
    pattern = rf"(?<![^\W_]){re.escape(stem)}{'(?:e?s|ed|ing)?' if len(stem) > 3 else ''}(?![^\W_])"
    texts = (change.text, change.scope or "", change.details)
    # Most texts do not even have the letters, and looking for them is quick.
    return any(stem in text.casefold() and re.search(pattern, text, re.I) for text in texts)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in map(str.lower, _WORD.findall(text)) if word not in _STOP))


def write_notes(facts: ReleaseFacts, preset: Preset, focus: Focus) -> str:
    lists = share_out(facts, preset, focus)
    notes = _Notes(facts, preset, focus, Web.of(facts.remote_url, facts.commits))
    lines = [f"# {inert(title(facts))}", f"**Release date:** {facts.newer.at.date().isoformat()}"]
    for heading, blocks, empty in notes.sections(lists):
        lines += [heading, _set(blocks) or empty]
    return "\n\n".join(filter(None, lines)) + "\n"


def share_out(facts: ReleaseFacts, preset: Preset, focus: Focus) -> dict[str, list[Change]]:
    """Return the changes of each list, in display order; each change stands in one."""
    of: dict[str, list[Change]] = {name: [] for name in ("Highlights", "Breaking changes", *LISTS.values())}
    for each in focus.chosen(facts.changes):
        of["Breaking changes" if each.breaking else LISTS[each.kind]].append(each)
    worth = [*of["Features"], *of["Improvements"]]
    ranked = sorted(
        filter(_is_described, worth), key=lambda each: (not each.own, each.kind != "feature", -len(each.paths))
    )
    of["Highlights"] = ranked[: preset.highlights]
    for name in ("Features", "Improvements"):
        of[name] = [each for each in of[name] if each not in of["Highlights"]]
    return of


def shown(facts: ReleaseFacts, preset: Preset, focus: Focus) -> list[Change]:
    """Return the changes that the notes list, rather than count."""
    lists = share_out(facts, preset, focus)
    most = dict.fromkeys(LISTS.values(), preset.listed) | {"Also changed": preset.other}
    return [change for name, changes in lists.items() for change in changes[: most.get(name)]]


def _is_described(change: Change) -> bool:
    is_new = change.kind in ("feature", "performance")
    if besides(change) or _own_list(change):
        return is_new or (change.own and change.kind == "improvement")
    return is_new and change.own and len(change.text.split()) > 14


def _own_list(change: Change) -> str:
    return change.details if change.own and change.details.startswith("- ") else ""


@dataclass(frozen=True, slots=True)
class _Notes:
    facts: ReleaseFacts
    preset: Preset
    focus: Focus
    web: Web

    def sections(self, lists: Mapping[str, Sequence[Change]]) -> Iterator[tuple[str, Iterable[str], str]]:
        leaves_out = sum(map(len, lists.values())) < len(self.facts.changes)
        broken = lists["Breaking changes"]
        yield "## Overview", self._overview(), ""
        none = "None of those that were asked for." if leaves_out else "No single change stands out."
        described = [self._titled(each, besides(each) or _own_list(each)) for each in lists["Highlights"]]
        yield "## Highlights", described, none
        yield "## What's new", (), ""
        above = {LISTS[change.kind] for change in lists["Highlights"]}
        for name in dict.fromkeys(LISTS.values()):
            empty = "All of them are among the highlights." if name in above else f"No {name.lower()}."
            empty = none if leaves_out else "Nothing else." if name == "Also changed" else empty
            yield f"### {name}", self._listed(name, lists[name]), empty
        yield "## Breaking changes", map(self._broken, broken), "Nothing is known to break."
        steps = "Nobody wrote down steps beyond what is said above." if broken else "Nobody wrote down any steps."
        yield "## Migration guide", self._migration(self.focus.chosen(self.facts.changes)), steps
        yield "## Installation", self._installation(), "The project's files name no way to install it."
        known = (self._item(inert(said(each)), each) for each in self.facts.known_issues)
        yield "## Known issues", known, "None are recorded in these commits."
        yield "## Contributors", self._contributors(), "Nobody is named in these commits."
        yield "## Full changelog", self._changelog(), ""

    def _overview(self) -> Iterator[str]:
        facts = self.facts
        lists = Counter(None if change.breaking else LISTS[change.kind] for change in facts.changes)
        broken = lists[None]
        named = {None: "breaking change", "Features": "feature", "Improvements": "improvement", "Fixes": "fix"}
        parts = [
            counted(lists[each], one, "fixes" if one == "fix" else None) for each, one in named.items() if lists[each]
        ]
        brings = f"brings {joined(parts)}" if parts else "changes nothing that users would notice"
        people = f" by {counted(len(facts.contributors), 'person', 'people')}" if facts.contributors else ""
        days = sorted(commit.committed_at.date().isoformat() for commit in facts.commits.values())
        span = f" ({days[0]} to {days[-1]})" if days and days[0] != days[-1] and not self.preset.terse else ""
        what = inert(title(facts))
        if facts.version.casefold() == "unreleased":
            what = f"The next release of {inert(facts.project_name or 'the project')}"
        commits = f"{counted(len(facts.commits), 'commit')} ({self._span()})"
        read = " Read the breaking changes before you upgrade." if broken else ""
        yield f"{what} {brings}, in {commits}{people} since {code(shortened(facts.older.ref))}{span}.{read}"
        if told := self.focus.told(facts.changes):
            yield told

    def _span(self) -> str:
        return self._compared("..".join(end.sha[: self.web.short] for end in (self.facts.older, self.facts.newer)))

    def _compared(self, label: str) -> str:
        return self.web.comparison(label, *(end.tag or end.sha for end in (self.facts.older, self.facts.newer)))

    def _listed(self, name: str, changes: Sequence[Change]) -> Iterator[str]:
        most = self.preset.other if name == "Also changed" else self.preset.listed
        yield from map(self._statement, changes[:most])
        if rest := changes[most:]:
            counts = f"{len(rest):,} more"
            if name == "Also changed":
                kinds = [(sum(each.kind == kind for each in rest), what) for kind, what in _FOLDED.items()]
                counts = joined([counted(number, what) for number, what in kinds if number])
            commits = tuple(dict.fromkeys(sha for change in rest for sha in change.commits))
            yield f"- {'… and ' if most else ''}{counts} {self._cite(commits)}"

    def _statement(self, change: Change) -> str:
        details = change.details if self.preset.details else "" if self.preset.terse else _own_list(change)
        more = besides(change) if (change.own or change.more) and not details and not self.preset.terse else ""
        text = bare(f"{sentence(said(change))} {more}") if more else said(change)
        return self._item(inert(text), change, self._lead(change), details)

    def _titled(self, change: Change, details: str) -> str:
        if self.preset.details:
            details = plain(change.details)
        return self._item(f"**{inert(said(change))}**", change, "", "" if self.preset.terse else details)

    def _broken(self, change: Change) -> str:
        note = plain(change.breaking_note or (change.details if change.own else "")).strip() or besides(change)
        note = "" if one_line(note).rstrip(".").casefold() == said(change).casefold() else note
        details = first_sentence(one_line(note)) if self.preset.terse else note[:NOTE_LIMIT]
        return self._item(f"**{inert(said(change))}**", change, self._lead(change), details)

    def _migration(self, changes: Sequence[Change]) -> Iterator[str]:
        for step in self.facts.steps:
            yield self._item(inert(said(step)), step, "", step.details[:NOTE_LIMIT])
        for change in changes:
            if steps := plain(change.migration or _steps(change)).strip()[: NOTE_LIMIT * 2]:
                yield self._item(f"**{inert(said(change))}**", change, "", steps)

    def _lead(self, change: Change) -> str:
        mark = "" if change.breaking else _LEADS.get(change.kind, "")
        scope = "" if self.preset.terse else inert(one_line(change.scope or "", 40))
        lead = ", ".join(filter(None, ["" if mark[:8].casefold() in change.text.casefold() else mark, scope]))
        return f"**{lead}:** " if lead else ""

    def _item(self, text: str, change: Change, lead: str = "", more: str = "") -> str:
        details = list(islice(_details(more[:DETAILS_LIMIT]), MOST_DETAILS + 1))
        details = [*details[:MOST_DETAILS], "…"] if len(details) > MOST_DETAILS else details
        if details and text.startswith("**"):
            text = f"**{sentence(text[2:-2])}**"
            # A single paragraph goes on in the line of its title.
            if len(details) == 1 and not details[0].startswith(("- ", "```")):
                text, details = f"{text} {sentence(capitalised(details[0]))}", []
        cited = self._cite(change.commits, change.pull_request, change.issues)
        below = f"\n\n{indent(_set(details), '  ')}" if details else ""
        return f"- {lead}{text} {cited}{below}"

    def _cite(self, commits: Sequence[str], pull: str | None = None, issues: Sequence[str] = ()) -> str:
        cited = self.preset.cited
        pull = pull if cited > 1 else None
        closes = [each for each in issues if each != pull][:MOST_ISSUES] if cited > 1 else []
        # A pull request leads to its commits.
        commits = commits[:1] if pull else commits
        numbers = [self.web.number(each, is_pull=each == pull) for each in filter(None, (pull, *closes))]
        named = ", ".join([*numbers, *map(self.web.commit, commits[:cited])])
        more = len(commits) - cited
        return f"({named} and {more:,} more)" if more > 0 else f"({named})"

    def _installation(self) -> Iterator[str]:
        if found := install_command(self.facts):
            yield _fenced(one_line(found[1]), "sh")
            if found[0].needs:
                yield f"Needs {code(found[0].needs)}."

    def _contributors(self) -> Iterator[str]:
        people, most = self.facts.contributors, self.preset.people
        names = [one_line(each.name, NAME_LIMIT) or "somebody without a name" for each, _ in people[:most]]
        # Letters alone are harmless, and a name such as `McBride` is not code.
        names = [name if name.replace(" ", "").isalpha() else inert(name) for name in names]
        if not self.preset.terse:
            names = [f"{name} ({counted(count, 'commit')})" for name, (_, count) in zip(names, people, strict=False)]
        names += [f"{len(people) - most:,} more"] if len(people) > most else []
        if people:
            yield f"Thanks to {joined(names)}, for {self._span()}."

    def _changelog(self) -> Iterator[str]:
        facts = self.facts
        older, newer = facts.older.ref, facts.newer.ref
        where = f"{self._compared(f'{shortened(older)}...{shortened(newer)}')}:"
        if not self.web.base:
            where = f"{code(f'git log {older}..{newer}')} lists"
        yield f"{where} all {counted(len(facts.commits), 'commit')}."
        yield from (sentence(inert(remark)) for remark in facts.remarks)


def title(facts: ReleaseFacts) -> str:
    name, version = one_line(facts.project_name or "", NAME_LIMIT), one_line(facts.version, NAME_LIMIT)
    if name and version.casefold().startswith(name.casefold()):
        return f"{name} {re.sub(r'^[-_@/ ]+(?=v?[0-9])', '', version[len(name) :])}".strip()
    return f"{name} {version}".strip()


def besides(change: Change) -> str:
    """Return a second sentence about a change; empty if none can stand alone."""
    if change.more:
        return change.more
    note = change.breaking_note or "" if change.breaking else ""
    for paragraph in (plain(change.details).split("\n\n")[0].strip(), plain(note).strip()):
        if paragraph and not re.match(r"[-*+>|`#$<]|\d+\.\s", paragraph):
            more = first_sentence(one_line(paragraph))
            whole = len(more) <= TEXT_LIMIT and not more.endswith(":") and len(more.split()) > 3
            return more if whole and bare(more).casefold() != said(change).casefold() else ""
    return ""


def said(change: Change) -> str:
    text = bare(one_line(change.text, TEXT_LIMIT))
    # Names of files and folders keep their case.
    is_name = text.split(" ", 1)[0] in re.split(r"[/.]", "/".join(change.paths[:60]))
    return (text if is_name else capitalised(text)) or "A change without a message"


def _steps(change: Change) -> str:
    # The body of an undeclared change is written for its reviewers.
    note = change.breaking_note or (change.details if change.declared or change.own else "")
    parts = re.split(r"\n\n|\n(?=[-*] )|(?<=[.!])\s+(?=[A-Z`])", note if change.breaking else "")
    told = [part for part in parts if _STEP.search(part) and not part.startswith(("    ", "```"))]
    return ("\n" if any(part.startswith(("- ", "* ")) for part in told) else " ").join(told)


def _set(blocks: Iterable[str]) -> str:
    # Items stand together, but an item of several paragraphs stands apart from the next one.
    text = ""
    for before, block in pairwise(["", *blocks]):
        close = before.startswith("- ") and "\n" not in before and block.startswith("- ")
        text += ("\n" if close else "\n\n" if before else "") + block
    return text


def _details(text: str) -> Iterator[str]:
    for block in markdown_blocks(plain(text)):
        yield _fenced(block.text) if block.kind == "code" else f"{'- ' * (block.kind == 'item')}{inert(block.text)}"


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def shortened(ref: str) -> str:
    return ref[:SHORT] if re.fullmatch(r"[0-9a-f]{40}", ref, re.IGNORECASE) else ref
