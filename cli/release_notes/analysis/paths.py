"""Role and area of a file, by its path."""

import re
from functools import lru_cache
from typing import Literal

Role = Literal["source", "test", "documentation", "changelog", "tooling", "lock", "manifest", "example", "other"]

_CHANGELOG = (
    r"(?:^|/)(?:changelog|changes|breaking[-_]?changes|history|news|release[-_ ]?notes?|releases"
    r"|whats[-_]?new)[^/]*\.?(?:md|rst|txt|adoc"
    r"|markdown)?$|(?:^|/)(?:newsfragments|changelogs?(?:\.d)?|changes\.d|news|\.changes|\.changeset)/[^/]*$"
    r"|(?:^|/)(?:releases?|release[-_]?notes|whats?[-_]?new)/[^/]*\d[^/]*\.(?:md|rst|txt)$"
)
_TEST = (
    r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?|e2e|fixtures|__mocks__|__snapshots__|cypress)/"
    r"|(?:^|/)(?:test_[^/]*|conftest|[^/]*_test|[^/]*_spec|[^/]*\.(?:test|spec|stories))\.[a-z]+$"
)
_TOOLING = (
    r"(?:^|/)(?:scripts|hack|ci|benchmarks?|bench)/"
    r"|(?:^|/)\.(?:github|gitlab|circleci|ci|vscode|idea|devcontainer|husky|buildkite)(?:/|$)|(?:^|/)\.(?!change)[^/]+$"
    r"|(?:^|/)(?:tox\.ini|noxfile\.py|justfile|makefile|jenkinsfile|mypy\.ini|pytest\.ini|ruff\.toml|codeowners"
    r"|mkdocs\.ya?ml|codecov\.ya?ml|netlify\.toml|[^/]+\.config\.[a-z]+|tsconfig[^/]*\.json|agents\.md|claude\.md)$"
)
_LOCK = r"(?:^|/)(?:[^/]*\.lock|[^/]*-lock\.(?:json|ya?ml)|go\.sum|npm-shrinkwrap\.json|bun\.lockb)$"
_MANIFEST = (
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|(?:requirements|constraints)[^/]*\.(?:txt|in)|pipfile|package\.json"
    r"|pnpm-workspace\.yaml|cargo\.toml|go\.mod|gemfile|[^/]*\.gemspec|composer\.json|mix\.exs|pubspec\.yaml)$"
)
_EXAMPLE = r"(?:^|/)(?:examples?|samples?|demos?|playground)/"
_DOCUMENTATION = (
    r"(?:^|/)(?:docs?|documentation|website|site|man)/|\.(?:md|rst|adoc|markdown|ipynb)$"
    r"|(?:^|/)(?:license|licence|copying|authors|contributors|notice|security|code_of_conduct)[^/]*$"
)
_SOURCE = (
    r"\.(?:py|pyi|pyx|tsx?|[mc]ts|jsx?|[mc]js|vue|svelte|rs|go|java|kts?|scala|rb|php|c|h|cc|cpp|hpp|mm?|swift|cs|fs"
    r"|exs?|erl|hs|ml|clj|dart|lua|sh|bash|zsh|ps1|sql|r|jl|pl|zig|nim|proto|graphql|tf|html|jinja2?|css|s[ac]ss|less)$"
)
_ORDER: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(_LOCK, re.I), "lock"),
    (re.compile(_TEST, re.I), "test"),
    (re.compile(_CHANGELOG, re.I), "changelog"),
    (re.compile(_TOOLING, re.I), "tooling"),
    (re.compile(_MANIFEST, re.I), "manifest"),
    (re.compile(_EXAMPLE, re.I), "example"),
    (re.compile(_DOCUMENTATION, re.I), "documentation"),
    (re.compile(_SOURCE, re.I), "source"),
)
_CONTRIBUTORS = re.compile(
    r"(?:^|/)(?:license|licence|authors|contributors?|contributing|security|code_of_conduct)", re.I
)

_GUIDE = re.compile(
    r"(?:^|/)upgrad(?:e|ing)(?:[-_ ][\w.-]+)?\.(?:md|rst|txt|adoc)$|^migrat(?:ion|ing)\.(?:md|rst|txt)$"
    r"|(?:^|/)migrat(?:e|ing|ion)[-_ ](?:guide|notes|to|from|v?\d)[\w.-]*\.(?:md|rst|txt|adoc)$",
    re.I,
)


@lru_cache(maxsize=65_536)
def role(path: str) -> Role:
    if len(path) > 2_000:
        return "other"
    return next((kind for pattern, kind in _ORDER if pattern.search(path)), "other")


def is_upgrade_guide(path: str) -> bool:
    return bool(_GUIDE.search(path))


def is_for_users(path: str) -> bool:
    """Return whether a file is the changelog or the documentation that users read."""
    return role(path) == "changelog" or (role(path) == "documentation" and not _CONTRIBUTORS.search(path))
