"""Parse prefixes and footers of commit messages: Conventional Commits, gitmoji, `[area]`, `area:`, trailers."""

import re
from dataclasses import dataclass

from cli.release_notes.facts import ChangeKind

_WORDS: dict[ChangeKind, str] = {
    "feature": "feat feature features enh new add added ✨ :sparkles:",
    "improvement": "improvement improve improved enhancement enhance ui ux a11y i18n change changed update updated 💄",
    "fix": "fix fixes fixed bugfix bugfixes hotfix bug bugs patch 🐛 🚑 🩹 :bug: :ambulance:",
    "performance": "perf performance optimization ⚡ :zap:",
    "security": "security sec 🔒 :lock:",
    "deprecation": "deprecate deprecated deprecation deprecations 🗑 :wastebasket:",
    "removal": "remove removed removal removals 🔥 :fire:",
    "documentation": "docs doc documentation readme 📝 :memo:",
    "dependency": "deps dep dependencies dependency ⬆ ⬇ 📌 :arrow_up: :arrow_down: :pushpin:",
    "internal": "chore refactor refac style test tests testing build ci release wip lint typing meta infra maint bench"
    " cleanup internal example examples format misc workflow workflows dx playground ♻ ✅ 🎨 🔖 👷 💚 🔧 🔨 🚨 🚚"
    " :recycle: :art: :white_check_mark: :bookmark: :construction_worker: :green_heart: :wrench: :hammer:",
}
_TYPES = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_CONVENTIONAL = re.compile(
    r"^(?P<type>[A-Za-z][\w -]{0,20}?)\s?(?:\((?P<scope>(?:[^()]"
    r"|\([^()]{0,60}\)){1,60})\))?(?P<bang>!)?\s?:\s+(?P<text>\S.*)$"
)
_AREA = re.compile(r"^(?!\S*//|(?i:cve|ghsa)-)(?P<scope>[A-Za-z0-9_.][\w./+,*@-]{0,40})(?P<bang>!)?:\s+(?P<text>\S.*)$")
_BRACKET = re.compile(r"^\[(?P<tag>[^\[\]]{1,40})\]\s*:?\s*(?P<text>\S.*)$")
_EMOJI = re.compile(
    r"^(?P<mark>:[a-z0-9_+-]+:|[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff])[\ufe0e\ufe0f]?\s*"
)
BREAKING_TAG = re.compile(r"^\W*(?:breaking(?:[ -]changes?)?|backwards?[ -]incompatib\w+)\W*$", re.I)


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A subject without its prefix; `kind` is None if the prefix names none."""

    text: str
    kind: ChangeKind | None = None
    scope: str | None = None
    breaking: bool = False
    conventional: bool = False


def take_prefix(subject: str) -> Prefixed:
    emoji = _EMOJI.match(subject)
    text = subject[emoji.end() :] if emoji else subject
    found = _conventional(text) or _bracket(text) or Prefixed(text)
    kind = _TYPES.get(emoji["mark"]) if emoji else None
    boom = any(sign in subject for sign in ("💥", ":boom:"))
    conventional = found.conventional or kind is not None
    return Prefixed(found.text, found.kind or kind, found.scope, found.breaking or boom, conventional)


def _conventional(subject: str) -> Prefixed | None:
    match = _CONVENTIONAL.match(subject)
    word = match["type"].strip().lower() if match else ""
    if match and BREAKING_TAG.match(word):
        inner = take_prefix(match["text"])
        return Prefixed(
            inner.text, inner.kind, inner.scope or match["scope"], breaking=True, conventional=inner.conventional
        )
    if match is None or word not in _TYPES:
        area = _AREA.match(subject)
        return Prefixed(area["text"], None, area["scope"], area["bang"] is not None) if area else None
    is_bump = re.fullmatch(r"(?i)deps|dependencies|deps-dev|dep", match["scope"] or "")
    kind = "dependency" if is_bump else _TYPES[word]
    return Prefixed(match["text"], kind, match["scope"], match["bang"] is not None, conventional=True)


def _bracket(subject: str) -> Prefixed | None:
    match = _BRACKET.match(subject)
    if match is None:
        return None
    inner, tag = take_prefix(match["text"]), match["tag"].strip()
    breaking, kind = bool(BREAKING_TAG.match(tag)), _TYPES.get(tag.lower())
    scope = inner.scope or (None if breaking or kind else tag)
    return Prefixed(inner.text, inner.kind or kind, scope, inner.breaking or breaking, inner.conventional)


_KNOWN_FOOTER = (
    r"(?:(?i:signed-off-by|co-authored-by|(?:reviewed|acked|tested|reported|suggested|helped|merged|approved)[\w-]*|cc"
    r"|closes?"
    r"|fix(?:e[sd])?|resolves?|refs?|see-also|change-id|bug|issue|link|relates-to|part-of|pr-url|migration|release-note"
    r"|[a-z]+-session)\s*:|\(cherry picked from)"
)
_FOOTER = re.compile(rf"^{_KNOWN_FOOTER}.*(?:\n[ \t]+\S.*)*\n?", re.M)
_BREAKING = re.compile(
    rf"^BREAKING[ -]CHANGES?(?:\([^)]*\))?[ \t]*:[ \t]*(?P<note>(?:\n\s*)?\S.*(?:\n(?!{_KNOWN_FOOTER}"
    rf"|BREAKING[ -]CHANGE)[^\n]*\S[^\n]*)*)?",
    re.M,
)
_MIGRATION_FOOTER = re.compile(r"^Migration(?:-Guide)?[ \t]*:[ \t]*(?P<text>\S.*(?:\n[ \t]+\S.*)*)", re.M | re.I)
_NOTHING = re.compile(
    r"^\W*(?:none|nope|nothing|no|n/?a|n\.a\.|not applicable|nil|false)\b"
    r"(?:\W*$|[.,;:!)\u2013\u2014]| -|\W+(?:expected|known|whatsoever|at all|here|that|breaking|such|changes?)\b)",
    re.I,
)


def breaking_notes(body: str) -> list[str]:
    """Return the texts of `BREAKING CHANGE:` at the start of any line, to the end of their paragraphs."""
    notes = (" ".join((match["note"] or "").split()) for match in _BREAKING.finditer(body))
    return [note for note in notes if not is_nothing(note)]


def migration_footer(body: str) -> str | None:
    match = _MIGRATION_FOOTER.search(body)
    return " ".join(match["text"].split()) if match else None


def without_footers(body: str) -> str:
    return _FOOTER.sub("", _BREAKING.sub("", body))


def is_nothing(value: str) -> bool:
    """Return whether a value means "none", as in filled-in templates."""
    return not re.search(r"\w", value) or bool(_NOTHING.match(value))
