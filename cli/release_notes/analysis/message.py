"""Parse a commit message into a change without commits: prefix, numbers, footers, prose."""

import re
from dataclasses import replace

from cli.release_notes.analysis.wording import TYPES, is_noise, kind_of
from cli.release_notes.facts import Change, ChangeKind
from cli.release_notes.words import bare
from tools.text.plain import one_line

LONGEST_TEXT, LONGEST_DETAILS = 400, 4_000
_CONVENTIONAL = re.compile(
    r"^(?P<type>[A-Za-z][\w -]{0,20}?)\s?(?:\((?P<scope>(?:[^()]|\([^()]{0,60}\)){1,60})\))?(?P<bang>!)?\s?:\s+"
    r"(?P<text>\S.*)$"
)
_AREA = re.compile(
    r"^(?!\S*//|(?i:cve|ghsa)-)(?P<scope>[A-Za-z0-9_.](?:[\w./+,*@-]| / ){0,40})(?P<bang>!)?:\s+(?P<text>\S.*)$"
)
_BRACKET = re.compile(r"^\[(?P<type>[^\[\]]{1,40})\](?P<scope>)?(?P<bang>!)?\s*:?\s*(?P<text>\S.*)$")
_EMOJI = re.compile(
    r"^(?P<mark>:[a-z0-9_+-]+:|[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff])[\ufe0e\ufe0f]?\s*"
)
BREAKING_TAG = re.compile(r"^\W*(?:breaking(?:[ -]changes?)?|backwards?[ -]incompatib\w+)\W*$", re.I)
_PULL = re.compile(r"\s*\((?:#|GH-|!|PR ?#?)(?P<number>\d{1,7})\)\s*$", re.I)
_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b(?: (?:issues?|bugs?))?[:\s]+"
    r"(?P<list>(?:(?:#|GH-)\d+(?:\s*,\s*|\s+and\s+)?)+)|\bissues? (?P<named>#\d{1,7})\b",
    re.I,
)
_LISTED = re.compile(r"^[*-] (?P<subject>\S.*)$", re.M)
_TRAILER = (
    r"(?:(?i:[a-z]+(?:-[a-z]+)?-by|cc|closes?|fix(?:e[sd])?|resolves?|refs?|see-also|change-id|bug|issue|link|part-of"
    r"|pr-url|[a-z]+-session)\s*:|\(cherry picked from)"
)
_TRAILERS = re.compile(rf"^{_TRAILER}.*(?:\n[ \t]+\S.*)*\n?", re.M)
_MIGRATION = re.compile(
    r"^\W*(?:migration(?:[ -](?:guide|notes?|path))?|upgrad(?:e|ing)(?: (?:guide|notes?))?|how to (?:migrate|upgrade)"
    rf"|to migrate|action required)\W*:\W*(?P<text>\S.*(?:\n(?!{_TRAILER})[^\n]*\S[^\n]*)*)",
    re.I | re.M,
)
_BREAKING = re.compile(
    r"^BREAKING[ -]CHANGES?(?:\([^)]*\))?[ \t]*:[ \t]*"
    rf"(?P<note>(?:\n\s*)?\S.*(?:\n(?!{_TRAILER}|BREAKING[ -]CHANGE|(?i:migration)[\w -]*:)[^\n]*\S[^\n]*)*)?",
    re.M,
)
_NOTHING = re.compile(
    r"^\W*(?:none|nope|nothing|no|n/?a|false|not applicable)\b(?:\W*$|[.,;:!)]| -|\W+(?:known|that|breaking)\b)", re.I
)
_CHORES = re.compile(
    r"^(?:[-=*_]{2,}|\[pre-commit\.ci\].*|for more information, see https?://\S+|(?:🤖 )?generated with .*"
    r"|(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|related to|part of|pr|issue)\b[:\s]*)+"
    r"(?:(?:(?:[\w./-]+)?#\d+|https?://\S+)(?:[\s,]+(?:and )?)?)+\.?|[-*+]\s+\[[ xX]?\].*)$",
    re.I,
)
_HEADING = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)(?s:.*?)(?:^[ \t]*(?P=fence)|\Z)"
    r"|^ {0,3}#{1,6}\s+(?P<title>.*)$|^(?P<under>[ \t]*\S.*)\n(?:-{2,}|={2,})\s*$",
    re.M,
)
"""A fence of code, in which there is none, or a heading."""
_BESIDE = re.compile(r"test|check ?list|screenshot|review|how (?:to|was|has)|related|issue|type of change|todo", re.I)
_FIRST: dict[ChangeKind, tuple[ChangeKind, ...]] = {
    "fix": ("security", "documentation"), "dependency": ("security",), "internal": ("security",),
}  # fmt: skip
"""Kinds that words tell better than a prefix does."""


def read_message(subject: str, body: str) -> Change:
    subject, pulls = without_pull(" ".join(subject[:2_000].split()))
    prefixed = take_prefix(subject)
    body = re.sub(r"<!--.*?-->", "", body[: 4 * LONGEST_DETAILS], flags=re.S)
    notes = [" ".join((match["note"] or "").split()) for match in _BREAKING.finditer(body)]
    notes = [note for note in notes if not is_nothing(note)]
    rest = _TRAILERS.sub("", _BREAKING.sub("", body))
    migration = _MIGRATION.search(rest)
    details = "\n\n".join(_prose(_MIGRATION.sub("", rest), subject))
    prose = kind_of(prefixed.text)
    kind = prose if prefixed.kind == "other" or prose in _FIRST.get(prefixed.kind, ()) else prefixed.kind
    closes = (match["list"] or match["named"] for match in _CLOSES.finditer(f"{subject}\n{body}"))
    issues = dict.fromkeys([*pulls[:-1], *(number for each in closes for number in re.findall(r"\d+", each))])
    return replace(
        prefixed,
        kind=kind,
        text=one_line(bare(prefixed.text.strip()), LONGEST_TEXT) or "No description",
        details=details if len(details) <= LONGEST_DETAILS else details[: LONGEST_DETAILS - 1] + "…",
        declared=prefixed.declared or bool(notes),
        noise=any(map(is_noise, {prefixed.text, subject})),
        breaking_note=" ".join(notes) or None,
        migration=" ".join(migration["text"].split()) if migration else None,
        pull_request=f"#{pulls[-1]}" if pulls else None,
        issues=tuple(f"#{number}" for number in issues)[:20],
    )


def take_prefix(subject: str) -> Change:
    """Return the text without its prefix; the kind is `other` if the prefix names none."""
    emoji = _EMOJI.match(subject)
    found = _prefixed(subject[emoji.end() :] if emoji else subject)
    mark = TYPES.get(emoji["mark"]) if emoji else None
    return replace(
        found,
        kind=mark if mark and found.kind == "other" else found.kind,
        declared=found.declared or any(sign in subject for sign in ("💥", ":boom:")),
        conventional=found.conventional or mark is not None,
    )


def _prefixed(text: str) -> Change:
    match = _CONVENTIONAL.match(text) or _BRACKET.match(text)
    word, scope = (match["type"].strip(), match["scope"] or None) if match else ("", None)
    is_tag = text.startswith("[")
    if match and word.lower() in TYPES:
        is_bump = re.fullmatch(r"(?i)dep(?:endencie)?s?(?:-dev)?", scope or "")
        kind = "dependency" if is_bump else TYPES[word.lower()]
        return Change(kind, scope, match["text"], declared=match["bang"] is not None, conventional=not is_tag)
    if match and (is_tag or BREAKING_TAG.match(word)):
        inner, breaking = take_prefix(match["text"]), bool(BREAKING_TAG.match(word))
        return replace(inner, scope=inner.scope or (scope if breaking else word), declared=inner.declared or breaking)
    area = _AREA.match(text)
    if area:
        return Change("other", area["scope"], area["text"], declared=area["bang"] is not None)
    return Change("other", None, text)


def is_nothing(value: str) -> bool:
    """Return whether a value means "none", as in filled-in templates."""
    return not re.search(r"\w", value) or bool(_NOTHING.match(value))


def without_pull(subject: str) -> tuple[str, list[str]]:
    found: list[str] = []
    while (match := _PULL.search(subject)) and match.start() > 0:
        found.insert(0, match["number"])
        subject = subject[: match.start()]
    return subject, found


def listed_in(body: str, message: Change) -> list[Change]:
    """Return the changes that the body of a squashed pull request lists, if it names several."""
    found = [read_message(each["subject"], "") for each in _LISTED.finditer(body[:20_000])]
    telling = (each for each in found if each.conventional and not each.noise)
    distinct = {each.text.casefold(): each for each in telling if each.kind in ("feature", "fix", "performance")}
    if len(distinct) < 2:
        return [message]
    pull = message.pull_request
    return [replace(each, pull_request=pull, issues=each.issues or message.issues) for each in distinct.values()]


def _prose(text: str, subject: str) -> list[str]:
    # Skip the headings of a template, and the sections below some of them.
    kept: list[str] = []
    beside, at = False, 0
    headings = [match for match in _HEADING.finditer(text) if not match["fence"]]
    for match in [*headings, None]:
        part = text[at : match.start()] if match else text[at:]
        if not beside:
            kept += _paragraphs(part, subject)
        if match:
            beside, at = bool(_BESIDE.search(match["title"] or match["under"] or "")), match.end()
    return kept


def _paragraphs(text: str, subject: str) -> list[str]:
    lines: list[str] = []
    fence = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        item = line.strip().lstrip("*- ")
        noise = item != line.strip() and (item == subject or is_noise(item))
        if fence or is_fence or not (noise or _CHORES.match(line.strip())):
            lines.append(line.rstrip())
        fence ^= is_fence
    return [part.strip("\n") for part in re.split(r"\n\n+", "\n".join(lines)) if part.strip()]
