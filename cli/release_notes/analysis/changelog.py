"""Evidence from the project's own changelog."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cli.release_notes.analysis.collect import Collected
from cli.release_notes.analysis.drafts import Draft, draft
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.paths import role
from cli.release_notes.analysis.surface.compare import Compared
from cli.release_notes.analysis.trailers import is_nothing
from cli.release_notes.analysis.wording import known_issue
from cli.release_notes.facts import Change, ChangeKind

MOST_ITEMS = 400
_HEADING = re.compile(r"^(?:#{1,6}\s+|\*\*)(?P<title>[^#*].*?)(?:\s*#*|\*\*:?)$")
_UNDERLINE = re.compile(r"^([=\-~^\"'`*+#.])\1{2,}\s*$")
_UNDERLINES = "=-~^\"'`*+#."
_BOLD, _IN_LIST = 20, 30
_ITEM = re.compile(r"^(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<text>\S.*)$")
_SECTIONS: tuple[tuple[ChangeKind, str], ...] = (
    ("removal", r"remov|backwards?[ -]incompat|breaking"),
    ("deprecation", r"deprecat"),
    ("security", r"secur"),
    ("fix", r"fix|bug"),
    ("feature", r"add(?:ed)?\b|new|feature"),
    ("performance", r"performance"),
    ("documentation", r"\bdoc"),
    ("improvement", r"chang|improv|enhanc|minor"),
)
_BREAKING = re.compile(r"(?<!\bno )(?<!\bnon[ -])(?:breaking|backwards?[ -]incompat)", re.I)
_MARKED = re.compile(
    r"\W*(?:breaking(?:[ -]api)?(?:[ -]changes?)?|backwards?[ -]incompat\w*(?:[ -]changes?)?)\s*(?:$|[^\w\s])", re.I
)
_KNOWN_ISSUES = re.compile(r"^known (?:issues?|problems?|bugs?|limitations?)\s*:?\s*(?P<rest>.*)$", re.I)
_KNOWN_SECTION = re.compile(r"(?:^|\s)known (?:issues?|problems?|bugs?|limitations?)\W*$", re.I)
_NUMBER = re.compile(r"(?:#|GH-|/(?:issues|pull)/|:(?:issue|pr|gh|pull):`)(?P<number>\d{1,7})", re.I)
_WORD = re.compile(r"[a-z_][a-z_0-9]{2,}", re.I)
_COMMON = frozenset(
    {"the", "and", "for", "with", "that", "this", "when", "from", "are", "was", "not", "now", "has", "have", "been",
     "its", "into", "using", "use", "used", "can", "will", "which", "also", "only", "they", "than", "then", "thanks",
     "contributed", "added", "add", "fixed", "fix", "removed", "changed", "support", "new"}
)  # fmt: skip
_FRAGMENT = re.compile(
    r"(?:newsfragments|changelog\.d|changes\.d)/\+?(?P<number>\d+)?[\w-]*\.(?P<kind>[a-z]+)(?:\.\d+)?(?:\.\w+)?$", re.I
)
_ENOUGH = 0.5
_COMMONPLACE = 500


@dataclass(frozen=True, slots=True)
class _Item:
    text: str
    section: str
    path: str

    @property
    def breaking(self) -> bool:
        return bool(_BREAKING.search(self.section) or _MARKED.match(self.text))

    @property
    def says_nothing(self) -> bool:
        return is_nothing(self.text)

    @property
    def kind(self) -> ChangeKind | None:
        return next((kind for kind, pattern in _SECTIONS if re.search(pattern, self.section, re.I)), None)

    @property
    def numbers(self) -> set[str]:
        return {f"#{match['number']}" for match in _NUMBER.finditer(self.text)}

    @property
    def words(self) -> set[str]:
        return _words(self.text)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON


def changelog_evidence(collected: Collected, compared: Compared, entries: Sequence[Entry]) -> None:
    """Raise the drafts that new changelog lines describe.

    A line belongs to the change whose number it names, else to the one that shares most of its words. A breaking line
    without a change becomes one.
    """
    found = [
        item for path, old, new in compared.changelogs for item in _new_items(path, old, new) if not item.says_nothing
    ][:MOST_ITEMS]
    writers = _writers(entries)
    index = _Index(collected.drafts)
    for item in found:
        made = index.speaks_of(item)
        if made is not None:
            _raise(made, item)
        elif item.breaking and writers.get(item.path):
            collected.drafts.append(_of_its_own(item, writers[item.path]))


class _Index:
    def __init__(self, drafts: Iterable[Draft]) -> None:
        self._drafts = [made for made in drafts if not made.message.is_chore]
        self._sizes: list[int] = []
        self._by_word: dict[str, list[int]] = {}
        self._by_number: dict[str, list[int]] = {}
        for place, made in enumerate(self._drafts):
            quiet = made.kind in ("internal", "dependency") and not made.files.get("changelog")
            words = set() if quiet else _words(f"{made.message.text} {made.message.details[:400]}")
            self._sizes.append(len(words))
            for word in words:
                self._by_word.setdefault(word, []).append(place)
            for number in {made.message.pull_request, *made.message.issues} - {None}:
                self._by_number.setdefault(str(number), []).append(place)

    def speaks_of(self, item: _Item) -> Draft | None:
        words = item.words
        shared = Counter(place for word in words for place in self._by_word.get(word, ())[:_COMMONPLACE])
        scores = {
            place: count / max(1, min(len(words), self._sizes[place])) for place, count in shared.items() if count >= 2
        }
        for place in {place for number in item.numbers for place in self._by_number.get(number, ())}:
            scores[place] = 1 + scores.get(place, 0.0)
        best = max(scores, key=lambda place: (scores[place], -place), default=None)
        return self._drafts[best] if best is not None and scores[best] >= _ENOUGH else None


def _raise(made: Draft, item: _Item) -> None:
    made.evidence["in the changelog"] = 0.14
    if (
        item.kind
        and not made.message.conventional
        and made.kind in ("other", "internal", "documentation", "improvement")
    ):
        made.kind = item.kind
    if item.breaking:
        made.breaking = made.declared = True
        made.breaking_note = made.breaking_note or _plain(item.text)


def _of_its_own(item: _Item, entries: Sequence[Entry]) -> Draft:
    made = draft(read_message(_plain(item.text), ""), entries[:3])
    made.kind = item.kind or "improvement"
    made.breaking = made.declared = True
    return made


def _writers(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        for path in entry.touched.paths:
            if role(path) == "changelog":
                found.setdefault(path, []).append(entry)
    return found


def _new_items(path: str, old: str, new: str) -> Iterator[_Item]:
    known = {" ".join(line.split()) for line in old.splitlines()}
    fragment = _FRAGMENT.search(path)
    if fragment and new.strip():
        issue = f" (#{fragment['number']})" if fragment["number"] else ""
        yield _Item(f"{' '.join(new.split())}{issue}", fragment["kind"], path)
        return
    above = _Headings()
    current: list[str] = []
    lines = new.splitlines()
    for number, line in enumerate(lines):
        heading = _heading(lines, number)
        item = _ITEM.match(line)
        if (heading is not None or item or not line.strip()) and current:
            yield _Item(" ".join(current), above.section, path)
            current = []
        if heading is not None:
            above.begin(*heading)
        elif item:
            above.end_lists(len(item["indent"]))
            if " ".join(line.split()) in known:
                continue
            if item["text"].startswith("**") and _BREAKING.search(item["text"][:40]) and item["text"].endswith("**"):
                above.begin(_IN_LIST + len(item["indent"]), item["text"])
            else:
                current = [item["text"]]
        elif current and line.strip():
            current.append(line.strip())
    if current:
        yield _Item(" ".join(current), above.section, path)


class _Headings:
    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    @property
    def section(self) -> str:
        return " ".join(title for _, title in self._open[-2:])

    def begin(self, level: int, title: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title))

    def end_lists(self, indent: int) -> None:
        while self._open and self._open[-1][0] >= _IN_LIST + indent:
            self._open.pop()


def _heading(lines: Sequence[str], number: int) -> tuple[int, str] | None:
    line = lines[number]
    match = _HEADING.match(line)
    if match:
        return (len(line) - len(line.lstrip("#"))) or _BOLD, match["title"]
    below = _UNDERLINE.match(lines[number + 1]) if line.strip() and number + 1 < len(lines) else None
    if below and not _ITEM.match(line):
        return _UNDERLINES.find(below[1]) + 1, line.strip()
    return None


def _plain(text: str) -> str:
    text = re.sub(r":\w+:`([^`<]*?)(?:\s*<[^>]*>)?`|``?([^`]+)``?", lambda match: match[1] or match[2] or "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|`([^`<]+?)\s*<[^>]*>`_+", lambda match: match[1] or match[2] or "", text)
    return re.sub(
        r"^\W*(?:breaking change|breaking|backwards?[ -]incompatib\w+)\W+", "", text.replace("**", ""), flags=re.I
    ).strip()


def known_issues(entries: Sequence[Entry], compared: Compared) -> tuple[Change, ...]:
    found: list[Draft] = []
    for entry in entries:
        if (issue := known_issue(entry.message.text)) and not is_nothing(issue):
            found.append(draft(read_message(issue, entry.commit.body), [entry]))
        for paragraph in entry.message.details.split("\n\n"):
            head, _, rest = paragraph.partition("\n")
            match = _KNOWN_ISSUES.match(head)
            text = " ".join(f"{match['rest']} {rest}".split()) if match else ""
            if text and not is_nothing(text):
                found.append(draft(read_message(text, ""), [entry]))
    writers = _writers(entries)
    for path, old, new in compared.changelogs if writers else ():
        found += [
            draft(read_message(_plain(item.text), ""), writers[path][:3])
            for item in _new_items(path, old, new)
            if _KNOWN_SECTION.search(item.section) and not item.says_nothing and path in writers
        ]
    return tuple(made.change(0.0) for made in found[:50])
