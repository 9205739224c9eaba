"""Parse a commit message."""

import re
from dataclasses import dataclass

from cli.release_notes.analysis.prefix import take_prefix
from cli.release_notes.analysis.trailers import Trailer, is_nothing
from cli.release_notes.analysis.wording import is_chore, kind_of
from cli.release_notes.facts import ChangeKind

LONGEST_TEXT, LONGEST_DETAILS = 400, 4_000
"""Characters kept of a subject and of its details."""
_PULL = re.compile(r"\s*\((?:#|GH-|!|PR ?#?)(?P<number>\d{1,7})\)\s*$", re.I)
_PULL_IN_BODY = re.compile(r"\b(?:PR|pull request|pull)[ :]*(?:https?://\S+/pull/|#)(?P<number>\d{1,7})\b", re.I)
_ISSUE = re.compile(r"(?<![\w&/#])(?:#|GH-)(?P<number>\d{1,7})\b|https?://\S+/(?:issues|work_items)/(?P<url>\d{1,7})\b")
_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|references|see|related to|relates to|addresses|part of)\b[:\s]+"
    r"(?P<list>(?:(?:[\w.-]+/[\w.-]+)?(?:#|GH-)\d+|https?://\S+?/issues/\d+)(?:(?:\s*,\s*|\s+and\s+|\s+)"
    r"(?:[\w.-]+/[\w.-]+)?(?:#|GH-)\d+)*)",
    re.I,
)
_TAIL = re.compile(
    r"[\s,;:\u2013-]*(?:\(?\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|references|see|issue)\s*:?\s*"
    r"(?:(?:#|GH-)\d+(?:\s*,\s*|\s+and\s+|\s*)?)+\)?|\((?:#\d+(?:,\s*)?)+\))[\s.]*$",
    re.I,
)
_NOISE = re.compile(
    r"^(?:-{3,}|\*{3,}|\[pre-commit\.ci\].*|for more information, see https?://pre-commit\.ci|merge (?:branch"
    r"|remote)\b.*|co-authored-by:.*|signed-off-by:.*|claude-session:.*|🤖 generated with.*|generated with \[?claude.*"
    r"|(?:\* )?(?:fix(?:es|ed)? )?(?:lint|linting|typo|typos|format|formatting|black|isort|ruff|mypy|tests?|ci"
    r"|review)\.?|\* (?:update|add|fix) (?:changelog|changes|docs?|tests?|pr ?#|lint)\S*\.?|\* wip)$",
    re.I,
)
_MIGRATION = re.compile(
    r"^(?:migration(?: (?:guide|notes?|path))?|upgrad(?:e|ing)(?: (?:guide|notes?|path))?|how to (?:migrate|upgrade)"
    r"|to migrate|action required)\s*:\s*(?P<text>\S.*)$",
    re.I | re.S,
)
_FENCE, _CODE = re.compile(r" {0,3}(?:`{3,}|~{3,})"), re.compile(r"(?: {4}|\t)")
_MIGRATION_KEY = re.compile(r"^(?:migration|upgrading|migration-guide)$", re.I)


@dataclass(frozen=True, slots=True)
class Message:
    """A message without prefix, numbers and trailers.

    Attributes: conventional: the author chose the kind; marked: marked as breaking by `!`, a footer or a tag; is_chore:
    about the release itself.
    """

    kind: ChangeKind
    scope: str | None
    text: str
    details: str
    conventional: bool
    marked: bool
    is_chore: bool
    breaking_note: str | None
    migration: str | None
    pull_request: str | None
    issues: tuple[str, ...]


def read_message(subject: str, body: str, trailers: tuple[Trailer, ...] = ()) -> Message:
    subject = " ".join(subject[:2_000].split())
    bare, pull = _without_pull(subject)
    prefixed = take_prefix(bare)
    text = _TAIL.sub("", prefixed.text).strip() or prefixed.text
    notes = [
        value
        for key, value in trailers
        if key.upper().replace("-", " ").startswith("BREAKING") and not is_nothing(value)
    ]
    details, migration = _details(body, bare)
    migration = migration or next((value for key, value in trailers if _MIGRATION_KEY.match(key)), None)
    kind = prefixed.kind or kind_of(text)
    if prefixed.conventional and kind in ("fix", "dependency") and kind_of(text) == "security":
        kind = "security"
    return Message(
        kind=kind,
        scope=prefixed.scope,
        text=_sentence(text),
        details=details,
        conventional=prefixed.conventional,
        marked=prefixed.breaking or bool(notes),
        is_chore=is_chore(text) or is_chore(bare),
        breaking_note=" ".join(notes).strip() or None,
        migration=migration,
        pull_request=pull or _pull_in(body),
        issues=_issues(subject, body, trailers, pull),
    )


def _without_pull(subject: str) -> tuple[str, str | None]:
    found = None
    while (match := _PULL.search(subject)) and match.start() > 0:
        found = found or f"#{match['number']}"
        subject = subject[: match.start()]
    return subject, found


def _pull_in(body: str) -> str | None:
    match = _PULL_IN_BODY.search(body[:LONGEST_DETAILS])
    return f"#{match['number']}" if match else None


def _sentence(text: str) -> str:
    text = text.strip().rstrip(".:").strip() or "No description"
    first = text.split(" ", 1)[0]
    if text[0].islower() and first.isalpha() and not text[len(first) :].startswith(" -"):
        text = text[0].upper() + text[1:]
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1].rstrip() + "…"


def _details(body: str, subject: str) -> tuple[str, str | None]:
    kept: list[str] = []
    migration: str | None = None
    fenced = False
    for paragraph in re.split(r"\n[ \t]*\n", body[: 4 * LONGEST_DETAILS]):
        lines = []
        for line in paragraph.splitlines():
            fence = _FENCE.match(line) is not None
            if fenced or fence or _CODE.match(line) or not _is_noise(line, subject):
                lines.append(line.rstrip())
            fenced ^= fence
        text = "\n".join(lines).rstrip().lstrip("\n")
        found = _MIGRATION.match(text.lstrip())
        if found and migration is None:
            migration = " ".join(found["text"].split())
        elif text and not _only_references(text):
            kept.append(text)
    details = "\n\n".join(kept)
    return details if len(details) <= LONGEST_DETAILS else details[: LONGEST_DETAILS - 1] + "…", migration


def _is_noise(line: str, subject: str) -> bool:
    bare = line.strip()
    return bool(_NOISE.match(bare) or _NOISE.match(bare.lstrip("* "))) or bare.lstrip("*- ") == subject


def _only_references(text: str) -> bool:
    return len(text) < 400 and not re.sub(r"[\s,.;]|and|PR", "", _ISSUE.sub("", _CLOSES.sub("", text)))


def _issues(subject: str, body: str, trailers: tuple[Trailer, ...], pull: str | None) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in (subject, body[: 4 * LONGEST_DETAILS], *(f"{key}: {value}" for key, value in trailers)):
        for match in _CLOSES.finditer(text):
            for issue in _ISSUE.finditer(match["list"]):
                found[f"#{issue['number'] or issue['url']}"] = None
    found.pop(pull or "", None)
    return tuple(found)[:20]
