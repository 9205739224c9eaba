"""Parse a commit message."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cli.release_notes.analysis.prefix import breaking_notes, migration_footer, take_prefix, without_footers
from cli.release_notes.analysis.wording import is_noise, kind_of
from cli.release_notes.facts import ChangeKind

LONGEST_TEXT, LONGEST_DETAILS = 400, 4_000
"""Characters kept of a subject and of its details."""
_PULL = re.compile(r"\s*\((?:#|GH-|!|PR ?#?)(?P<number>\d{1,7})\)\s*$", re.I)
_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b(?: (?:issues?|bugs?))?[:\s]+(?P<list>(?:(?:#|GH-)\d+(?:\s*,\s*"
    r"|\s+and\s+)?)+)"
    r"|\bissues? (?P<named>#\d{1,7})\b",
    re.I,
)
_LISTED = re.compile(r"^[*-] (?P<subject>\S.*)$", re.M)
_CHORES_OF_BODIES = re.compile(
    r"^(?:[-=*_]{2,}|\[pre-commit\.ci\].*|for more information, see https?://\S+|🤖 generated with.*"
    r"|generated with \[?claude.*"
    r"|(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|references|see|related to|part of|pr"
    r"|issue)\b[:\s]*)+(?:(?:(?:[\w./-]+)?#\d+"
    r"|https?://\S+)(?:[\s,]+(?:and )?)?)+\.?|[-*+]\s+\[[ xX]?\].*)$",
    re.I,
)
_HEADING, _UNDERLINE = re.compile(r"^ {0,3}#{1,6}\s+(?P<title>.*)$"), re.compile(r"^(?:-{2,}|={2,})\s*$")
_BESIDE = re.compile(
    r"test|check ?list|screenshot|review|how (?:to|was|has|did|can)|related|issue|link|type of change|todo|note to"
    r"|cla\b",
    re.I,
)
_MIGRATION = re.compile(
    r"^\W*(?:migration(?: (?:guide|notes?|path))?|upgrad(?:e|ing)(?: (?:guide|notes?))?|how to (?:migrate|upgrade)"
    r"|to migrate"
    r"|action required)\W*:\W*(?P<text>\S.*)$",
    re.I | re.S,
)
_FIRST: Mapping[ChangeKind, Sequence[ChangeKind]] = {
    "fix": ("security", "documentation"), "dependency": ("security",), "internal": ("security",),
}  # fmt: skip
"""Kinds that words tell better than a prefix does."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message without prefix, numbers and footers.

    Attributes:
        conventional: The author chose the kind.
        marked: Marked as breaking by `!`, a footer or a tag.
        noise: About the release, tests, tools or tidying.
        listed: Subjects listed by the body of a squashed pull request, if they name several changes.
    """

    kind: ChangeKind
    scope: str | None
    text: str
    details: str
    conventional: bool = False
    marked: bool = False
    noise: bool = False
    breaking_note: str | None = None
    migration: str | None = None
    pull_request: str | None = None
    issues: tuple[str, ...] = ()
    listed: tuple["Message", ...] = ()


def read_message(subject: str, body: str) -> Message:
    bare, pulls = _without_pull(" ".join(subject[:2_000].split()))
    prefixed = take_prefix(bare)
    notes = breaking_notes(body)
    details, migration = _details(body, bare)
    prose = kind_of(prefixed.text)
    kind = prefixed.kind or prose
    closes = (match["list"] or match["named"] for match in _CLOSES.finditer(f"{bare}\n{body[: 4 * LONGEST_DETAILS]}"))
    issues = [*pulls[:-1], *(number for each in closes for number in re.findall(r"\d+", each))]
    message = Message(
        kind=prose if prose in _FIRST.get(kind, ()) else kind,
        scope=prefixed.scope,
        text=_whole(prefixed.text),
        details=details,
        conventional=prefixed.conventional,
        marked=prefixed.breaking or bool(notes),
        noise=is_noise(prefixed.text) or is_noise(bare),
        breaking_note=" ".join(notes) or None,
        migration=migration or migration_footer(body),
        pull_request=f"#{pulls[-1]}" if pulls else None,
        issues=tuple(dict.fromkeys(f"#{number}" for number in issues))[:20],
    )
    return replace(message, listed=_several(body, message))


def _without_pull(subject: str) -> tuple[str, list[str]]:
    found: list[str] = []
    while (match := _PULL.search(subject)) and match.start() > 0:
        found.insert(0, match["number"])
        subject = subject[: match.start()]
    return subject, found


def _whole(text: str) -> str:
    text = text.strip()
    text = (text if text.endswith("..") else text.rstrip(".")).strip() or "No description"
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1].rstrip() + "…"


def _several(body: str, message: Message) -> tuple[Message, ...]:
    found = [read_message(each["subject"], "") for each in _LISTED.finditer(body[:20_000])]
    telling = [
        each
        for each in found
        if each.conventional and not each.noise and each.kind in ("feature", "fix", "performance")
    ]
    distinct = list({each.text.casefold(): each for each in telling}.values())
    pull = message.pull_request
    return (
        tuple(replace(each, pull_request=pull, issues=each.issues or message.issues) for each in distinct)
        if len(distinct) > 1
        else ()
    )


def _details(body: str, subject: str) -> tuple[str, str | None]:
    text = without_footers(re.sub(r"<!--.*?-->", "", body[: 4 * LONGEST_DETAILS], flags=re.S))
    kept: list[str] = []
    migration = None
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(_prose(text.split("\n"), subject))):
        found = _MIGRATION.match(paragraph.lstrip())
        if found and migration is None:
            migration = " ".join(found["text"].split())
        elif paragraph.strip():
            kept.append(paragraph.strip("\n"))
    details = "\n\n".join(kept)
    return details if len(details) <= LONGEST_DETAILS else details[: LONGEST_DETAILS - 1] + "…", migration


def _prose(lines: list[str], subject: str) -> list[str]:
    # The headings of a template are no text; what stands below some of them is none either.
    kept: list[str] = []
    fence = beside = False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        heading = None if fence else _HEADING.match(line)
        title = (
            heading["title"] if heading else line if line.strip() and _UNDERLINE.match(below) and not fence else None
        )
        item = line.strip().lstrip("*- ")
        is_chore = _CHORES_OF_BODIES.match(line.strip()) or (
            item != line.strip() and (item == subject or is_noise(item))
        )
        if title is not None:
            beside = bool(_BESIDE.search(title))
            kept.append("")
        elif not beside and (fence or is_fence or not is_chore):
            kept.append(line.rstrip())
        fence ^= is_fence
    return kept
