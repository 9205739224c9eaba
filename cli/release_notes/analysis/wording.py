"""Kind of a change by the words of its subject and the files that it touches, and work that no reader looks for."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from cli.release_notes.facts import ChangeKind

Role = Literal["source", "test", "documentation", "changelog", "tooling", "lock", "manifest", "example", "other"]

_PATHS: Mapping[Role, str] = {
    "lock": r"(?:^|/)(?:[^/]*\.lock|[^/]*-lock\.(?:json|ya?ml)|go\.sum|npm-shrinkwrap\.json|bun\.lockb)$",
    "test": r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?|e2e|fixtures|__mocks__|__snapshots__|cypress)/"
    r"|(?:^|/)(?:test_[^/]*|conftest|[^/]*_test|[^/]*_spec|[^/]*\.(?:test|spec|stories))\.[a-z]+$",
    "changelog": r"(?:^|/)(?:changelog|changes|breaking[-_]?changes|history|news|release[-_ ]?notes?|releases"
    r"|whats[-_]?new)[^/]*$|(?:^|/)(?:newsfragments|changelogs?(?:\.d)?|changes\.d|news|\.changes|\.changeset)/[^/]*$"
    r"|(?:^|/)(?:releases?|release[-_]?notes|whats?[-_]?new)/[^/]*\d[^/]*\.(?:md|rst|txt)$",
    "tooling": r"(?:^|/)(?:scripts|hack|ci|benchmarks?|bench)/|(?:^|/)\.(?!change)[^/]+$"
    r"|(?:^|/)\.(?:github|gitlab|circleci|ci|vscode|idea|devcontainer|husky|buildkite)(?:/|$)"
    r"|(?:^|/)(?:tox\.ini|noxfile\.py|justfile|makefile|jenkinsfile|mypy\.ini|pytest\.ini|ruff\.toml|codeowners"
    r"|mkdocs\.ya?ml|codecov\.ya?ml|netlify\.toml|[^/]+\.config\.[a-z]+|tsconfig[^/]*\.json|agents\.md|claude\.md)$",
    "manifest": r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|(?:requirements|constraints)[^/]*\.(?:txt|in)|pipfile"
    r"|package\.json|pnpm-workspace\.yaml|cargo\.toml|go\.mod|gemfile|[^/]*\.gemspec|composer\.json|mix\.exs)$",
    "example": r"(?:^|/)(?:examples?|samples?|demos?|playground)/",
    "documentation": r"(?:^|/)(?:docs?|documentation|website|site|man)/|\.(?:md|rst|adoc|markdown|ipynb)$"
    r"|(?:^|/)(?:license|licence|copying|authors|contributors|notice|security|code_of_conduct)[^/]*$",
    "source": r"\.(?:py|pyi|pyx|tsx?|[mc]ts|jsx?|[mc]js|vue|svelte|rs|go|java|kts?|scala|rb|php|c|h|cc|cpp|hpp|mm?"
    r"|swift|cs|fs|exs?|erl|hs|ml|clj|dart|lua|sh|bash|zsh|ps1|sql|r|jl|pl|zig|nim|proto|graphql|tf|html|jinja2?|s?css)$",
}
_ROLES = {role: re.compile(pattern, re.I) for role, pattern in _PATHS.items()}
_CONTRIBUTORS = re.compile(r"(?:^|/)(?:licen[cs]e|authors|contributors?|contributing|security|code_of_conduct)", re.I)


@lru_cache(maxsize=65_536)
def role(path: str) -> Role:
    if len(path) > 2_000:
        return "other"
    return next((kind for kind, pattern in _ROLES.items() if pattern.search(path)), "other")


def is_for_users(path: str) -> bool:
    return role(path) == "changelog" or (role(path) == "documentation" and not _CONTRIBUTORS.search(path))


_WORDS: dict[ChangeKind, str] = {
    "feature": "feat feature features enh new add added ✨ :sparkles:",
    "improvement": "improvement improve improved enhancement enhance ui ux change changed update updated",
    "fix": "fix fixes fixed bugfix bugfixes hotfix bug bugs patch 🐛 🚑 🩹 :bug: :ambulance:",
    "performance": "perf performance optimization ⚡ :zap:",
    "security": "security sec 🔒 :lock:",
    "deprecation": "deprecate deprecated deprecation deprecations 🗑 :wastebasket:",
    "removal": "remove removed removal removals 🔥 :fire:",
    "documentation": "docs doc documentation readme 📝 :memo:",
    "dependency": "deps dep dependencies dependency ⬆ ⬇ 📌 :arrow_up: :arrow_down: :pushpin:",
    "internal": "chore refactor style test tests testing build ci release wip lint typing infra maint bench cleanup"
    " internal example examples misc workflow workflows dx ♻ ✅ 🎨 🔖 👷 💚 🔧 🔨 🚨 🚚 :recycle: :art:"
    " :white_check_mark: :bookmark: :construction_worker: :green_heart: :wrench: :hammer:",
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
    r"|\W*(?:[\w./@-]+ )?(?:v\d+\.\d+|\d+\.\d+\.\d+)[\w.+-]*(?: init| release)?$|(?:start|begin|back)\w* .{0,20}develop"
    r"|(?:post|pre|next)[- ](?:release|version)|bump(?:ed)? to v?\d|bump (?!msrv)\S+ to \d+\.\d+\S*$|initial commit$)",
    re.I,
)
_TIDYING = re.compile(
    r"^(?:(?:fixup|squash|amend)! |wip\b|squashed '|merge (?:branch|remote|tag|commit|upstream|main)\b|workflows?\b"
    r"|\[?(?:automated|skip ci|ci skip)\]|apply suggestions"
    r"|(?:update|edit|add to|fix) (?:the )?(?:change ?log|changes|history|news|authors|contributors|read ?me)\b)"
    r"|\b(?:copyright\b|review (?:comments?|feedback|suggestions?)\b|typos?\b|(?:spelling|grammar)\b|lint\w*\b"
    r"|(?:re)?format(?:ting)?\b(?! (?:string|spec))|tests?\b(?! (?:client|runner|mode|command))|flak(?:y|iness)\b"
    r"|(?:mypy|pyright|flake8|ruff|pylint|black|clippy|eslint|prettier|pre-commit|codespell|golangci\S*)\b"
    r"|(?:fix|silence|suppress|avoid)\w* (?:\S+ ){0,3}warnings?$|(?:github|gitlab) (?:actions?|workflows?)\b"
    r"|coverage\b|(?<!npm )CI\b|codeowners\b|sponsors?\b|badge|refactor\w*|clean[ -]?ups?\b|changelog$|whitespace\b"
    r"|(?:dead|unused|duplicated?|redundant|leftover) (?:code|imports?|variables?|functions?|parameters?|fields?)\b"
    r"|comments?(?:$| (?:for|on|of)\b)|in comments?\b|(?:docstrings?|type (?:hints?|annotations?|ignores?))\b)"
    r"|\.gitignore\b",
    re.I,
)
_DOCUMENTS = re.compile(
    r"\b(?:(?:in|to|of|for|from) (?:the )?(?:\S+ )?(?:docs?|documentation|read ?me)\b|examples?$|broken links?\b"
    r"|doc(?:s|umentation)? (?:fix|update|change))|\S\.(?:md|rst)$"
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
    return bool(_RELEASE.match(text) or _TIDYING.search(text))
