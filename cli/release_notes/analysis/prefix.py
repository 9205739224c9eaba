"""Parse subject prefixes: conventional commits, gitmoji, `ENH:`, `[area]`, `area:`."""

import re
from dataclasses import dataclass

from cli.release_notes.facts import ChangeKind

_WORDS: dict[ChangeKind, str] = {
    "feature": "feat feature features feats enh new add added",
    "improvement": "improvement improve enhancement enhance ui ux a11y i18n l10n change changed update tweak api",
    "fix": "fix fixes fixed bugfix hotfix bug patch",
    "performance": "perf performance optimization optimize",
    "security": "security sec",
    "deprecation": "deprecate deprecated deprecation",
    "removal": "remove removed removal",
    "documentation": "docs doc documentation docstring readme",
    "dependency": "deps dep dependencies dependency",
    "internal": "chore refactor refac refacto style test tests tst testing build bld ci release rel rls wip lint typing"
    " types type meta infra config dev maint mnt mtn sty bench cleanup clean internal sponsors example examples format"
    " polish tox mypy ruff pre-commit misc workflow",
}
_TYPES = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_CONVENTIONAL = re.compile(
    r"^(?P<type>[A-Za-z][A-Za-z0-9 _-]{0,20}?)\s?(?:\((?P<scope>(?:[^()]|\([^()]{0,60}\)){1,60})\))?"
    r"(?P<bang>!)?\s?:\s+(?P<text>\S.*)$"
)
_AREA = re.compile(r"^(?P<scope>[A-Za-z0-9_.][\w./+,*-]{0,40})(?P<bang>!)?:\s+(?P<text>\S.*)$")
_BRACKET = re.compile(r"^\[(?P<tag>[^\[\]]{1,40})\]\s*:?\s*(?P<text>\S.*)$")
_MARKS: dict[ChangeKind, str] = {
    "feature": "✨ 🎉 🚀 :sparkles: :tada: :rocket:",
    "fix": "🐛 🚑 🩹 🥅 ✏ :bug: :ambulance: :adhesive_bandage: :goal_net: :pencil2:",
    "improvement": "💄 🚸 ♿ 🌐 🔊 💬 🧑‍💻 📱 🔍 :lipstick: :children_crossing: :wheelchair: :globe_with_meridians:"
    " :loud_sound: :speech_balloon: :technologist: :iphone: :mag:",
    "performance": "⚡ :zap:",
    "security": "🔒 🛂 :lock: :passport_control:",
    "deprecation": "🗑 :wastebasket:",
    "removal": "🔥 ⚰ :fire: :coffin:",
    "documentation": "📝 📄 💡 :memo: :page_facing_up: :bulb:",
    "dependency": "⬆ ⬇ 📌 \u2795 \u2796 :arrow_up: :arrow_down: :pushpin: :heavy_plus_sign: :heavy_minus_sign:",
    "internal": "♻ ✅ 🎨 🔖 👷 💚 🔧 🔨 🚨 🚚 🚧 🔀 📦 🏷 🧪 🙈 📸 🤡 🍱 🔇 :recycle: :white_check_mark: :art:"
    " :bookmark: :construction_worker: :green_heart: :wrench: :hammer: :rotating_light: :truck: :construction: :mute:"
    " :twisted_rightwards_arrows: :package: :label: :test_tube: :see_no_evil: :camera_flash: :bento:",
}
_EMOJI = {mark: kind for kind, marks in _MARKS.items() for mark in marks.split()}
_BRANCH = re.compile(r"^(?P<type>feature|feat|bugfix|hotfix|fix|chore|refactor)/(?P<text>\w[\w.-]*(?: [^:]*)?)$", re.I)
_LEADING_EMOJI = re.compile(
    r"^(?P<mark>:[a-z0-9_+-]+:|[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff](?:\u200d[\U0001f000-\U0001faff])?)"
    r"[\ufe0e\ufe0f]?\s*"
)
_BOOM = ("💥", ":boom:")
_BREAKING_TAG = re.compile(r"^\W*(?:breaking(?:[ -]changes?)?)\W*$", re.I)


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A subject without its prefix; `kind` is None if the prefix names none."""

    text: str
    kind: ChangeKind | None = None
    scope: str | None = None
    breaking: bool = False
    conventional: bool = False


def take_prefix(subject: str) -> Prefixed:
    emoji = _LEADING_EMOJI.match(subject)
    mark = emoji["mark"] if emoji else ""
    text = subject[emoji.end() :] if emoji else subject
    found = _conventional(text) or _bracket(text) or _branch(text) or Prefixed(text)
    kind = found.kind or _EMOJI.get(mark)
    boom = mark in _BOOM or any(sign in subject for sign in _BOOM)
    return Prefixed(found.text, kind, found.scope, found.breaking or boom, found.conventional or (mark in _EMOJI))


def _conventional(subject: str) -> Prefixed | None:
    match = _CONVENTIONAL.match(subject)
    if match is None:
        return _area(subject)
    word = match["type"].strip().lower()
    if _BREAKING_TAG.match(word):
        inner = take_prefix(match["text"])
        return Prefixed(inner.text, inner.kind, inner.scope or match["scope"], True, inner.conventional)
    kind = _TYPES.get(word)
    if kind is None:
        return _area(subject)
    scope = match["scope"]
    if scope and kind in ("internal", "fix") and re.match(r"(?i)^(?:deps|dependencies|deps-dev|dep)$", scope):
        kind = "dependency"
    return Prefixed(match["text"], kind, scope, match["bang"] is not None, True)


def _area(subject: str) -> Prefixed | None:
    match = _AREA.match(subject)
    if match is None or "//" in match["scope"] or re.match(r"(?i)(?:cve|ghsa)-", match["scope"]):
        return None
    first = match["scope"].lower().split("/")[0]
    kind: ChangeKind | None = _TYPES.get(first) if first in ("docs", "doc", "tests", "test", "ci", "build") else None
    return Prefixed(match["text"], kind, match["scope"], match["bang"] is not None)


def _branch(subject: str) -> Prefixed | None:
    match = _BRANCH.match(subject)
    if match is None:
        return None
    text = match["text"] if " " in match["text"] else re.sub(r"[-_]+", " ", match["text"])
    return Prefixed(text, _TYPES[match["type"].lower()])


def _bracket(subject: str) -> Prefixed | None:
    match = _BRACKET.match(subject)
    if match is None:
        return None
    inner = take_prefix(match["text"])
    tag = match["tag"].strip()
    if _BREAKING_TAG.match(tag):
        return Prefixed(inner.text, inner.kind, inner.scope, True, inner.conventional)
    kind = inner.kind or _TYPES.get(tag.lower())
    scope = inner.scope or (None if tag.lower() in _TYPES else tag)
    return Prefixed(inner.text, kind, scope, inner.breaking, inner.conventional or tag.lower() in _TYPES)
