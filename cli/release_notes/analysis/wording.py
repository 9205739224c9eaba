"""Kind of a change by the words of its subject, and work that no reader of release notes looks for."""

import re
from collections.abc import Mapping

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
TYPES = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_VERBS: Mapping[ChangeKind, str] = {
    "fix": r"fix\w*|correct\w*|repair\w*|resolv\w+|prevent\w*|avoid\w*|handl\w+|ensur\w+|restor\w+|don't|do not|never"
    r"|stop\w*|guard\w*|respect\w*|preserv\w+|properly|hotfix|bug\s?fix|no longer|make sure",
    "feature": r"add\w*|introduc\w+|implement\w*|support\w*|new|allow\w*|enabl\w+|expos\w+|provid\w+|accept\w*"
    r"|customi\w+",
    "performance": r"optimi[sz]\w*|speed\w*|faster|cach\w+",
    "deprecation": r"deprecat\w+",
    "removal": r"remov\w+|drop\w*|delet\w+|get rid of",
    "documentation": r"document\w*|docs?|readme|clarif\w+|mention\w*|explain\w*|reword\w*",
    "internal": r"refactor\w*|clean\w*|tid(?:y|ied)|test\w*|lint\w*|format\w*|merg\w+|wip|releas\w+|prepar\w+|bump\w*"
    r"|split\w*|extract\w*|reorgani\w+|rewrit\w+|simplif\w+|renam\w+|mov(?:e|ed|es|ing)|revert\w*|reconcile\w*|setup"
    r"|sync\w*",
    "improvement": r"improv\w+|enhanc\w+|extend\w*|better|mak(?:e|es|ing)|chang\w+|updat\w+|us(?:e|es|ed|ing)|switch\w*"
    r"|return\w*|rais(?:e|es)|show\w*|print\w*|requir\w+|upgrad\w+|replac\w+|let|include\w*|set",
}
_FIRST = {kind: re.compile(rf"^(?:{verbs})(?![\w'-])", re.I) for kind, verbs in _VERBS.items()}
_STRONG: Mapping[ChangeKind, re.Pattern[str]] = {
    "security": re.compile(
        r"\bCVE-\d{4}-\d+|\bGHSA-[\w-]+|\bvulnerabilit(?:y|ies)\b|\bsecurity (?:fix|issue|hole|update)|\b(?:sql|command"
        r"|code|html|shell|header|log|template|script) injection\b|\b(?:XSS|CSRF|SSRF)\b|(?:path|directory) traversal",
        re.I,
    ),
    "deprecation": re.compile(r"\b(?:is|are) (?:now )?deprecated\b", re.I),
    "performance": re.compile(r"\b(?:performance|speed[ -]?up|faster|throughput|latency|memory usage)\b", re.I),
}
_RELEASE = re.compile(
    r"^(?:chore|build|ci)?(?:\([^)]*\))?:?\s*(?:(?:bump|update|set|increase)\w*(?: up)? (?:the )?(?:\S+ )?versions?\b"
    r"|(?:prepar\w+|releas\w+|publish|version|cut|tag)\b.{0,40}?\bv?\d+[\w.+-]*$|version packages|publish$|release$"
    r"|\W*(?:[\w./@-]+ )?(?:v\d+\.\d+|\d+\.\d+\.\d+)[\w.+-]*(?: init| release)?$|start\w* (?:new )?develop"
    r"|back to develop|(?:post|pre|next)[- ](?:release|version)|(?:begin|open)\w* .{0,20}develop|bump(?:ed)? to v?\d"
    r"|bump (?!msrv)\S+ to \d+\.\d+\S*$|bump versions|initial commit$|begin$)",
    re.I,
)
_TIDYING = re.compile(
    r"^(?:fixup|squash|amend)! |^wip\b|^squashed '|^merge (?:branch|remote|tag|commit|upstream|main)\b|\bcopyright\b"
    r"|^\[?(?:automated|skip ci|ci skip)\]?|^apply suggestions|\b(?:code )?review (?:comments?|feedback|suggestions?)\b"
    r"|\btypos?\b|\b(?:spelling|grammar)\b|\blint\w*\b|\b(?:re)?format(?:ting)?\b(?! (?:string|spec))|\bwhitespace\b"
    r"|\b(?:mypy|pyright|flake8|ruff|pylint|black|isort|clippy|eslint|prettier|pre-commit|codespell|golangci\S*|gofmt)\b"
    r"|\b(?:unit |integration |regression )?tests?\b(?! (?:client|runner|mode|command))|\bflak(?:y|iness)\b"
    r"|\b(?:fix|silence|suppress|avoid)\w* (?:\S+ ){0,3}warnings?$|\bcoverage\b|(?<!npm )\bCI\b|\b(?:github|gitlab)"
    r" (?:actions?|workflows?)\b|^workflows?\b|\bcodeowners\b|\bsponsors?\b|\bbadge|\brefactor\w*|\bclean[ -]?ups?\b"
    r"|\b(?:dead|unused|duplicated?|redundant|leftover) (?:code|imports?|variables?|functions?|parameters?|fields?)\b"
    r"|\bcomments?(?:$| (?:for|on|of)\b)|\bin comments?\b|\b(?:docstrings?|type (?:hints?|annotations?|ignores?))\b"
    r"|^(?:update|edit|add to|fix) (?:the )?(?:change ?log|changes|history|news|authors|contributors|read ?me)\b"
    r"|^(?:update|add|change)\w* (?:the )?(?:new )?logo\b|^new logo$|\.gitignore\b|\bsigned the cla\b"
    r"|^split out .*changelog",
    re.I,
)
_DOCUMENTS = re.compile(
    r"\b(?:in|to|of|for|from) (?:the )?(?:\S+ )?(?:docs?|documentation|read ?me)\b|\bexamples?$|\bbroken links?\b"
    r"|\bdoc(?:s|umentation)? (?:fix|update|change)|\S+\.(?:md|rst)$"
    r"|^(?:fix|update|improve|add)\w* (?:\S+ ){0,3}(?:docs?|documentation|readme)\b",
    re.I,
)


def kind_of(text: str) -> ChangeKind:
    """Return the kind that the first word names; `other` if it names none."""
    if _DOCUMENTS.search(text):
        return "documentation"
    first: ChangeKind = next((kind for kind, pattern in _FIRST.items() if pattern.match(text)), "other")
    strong = next((kind for kind, pattern in _STRONG.items() if pattern.search(text)), first)
    return first if first in ("documentation", "internal") else strong


def is_noise(text: str) -> bool:
    """Return whether a subject is about making the release, tests, tools or tidying."""
    return bool(_RELEASE.match(text) or _TIDYING.search(text))
