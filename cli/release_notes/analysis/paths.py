"""Role and area of a file, by its path."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

Role = Literal["source", "test", "documentation", "changelog", "tooling", "lock", "manifest", "example", "other"]

_PATTERNS: Mapping[Role, str] = {
    "lock": r"(?:^|/)(?:[^/]*\.lock|[^/]*-lock\.(?:json|ya?ml)|go\.sum|npm-shrinkwrap\.json|bun\.lockb)$",
    "test": r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?|e2e|fixtures|__mocks__|__snapshots__|cypress)/"
    r"|(?:^|/)(?:test_[^/]*|conftest|[^/]*_test|[^/]*_spec|[^/]*\.(?:test|spec|stories))\.[a-z]+$",
    "changelog": r"(?:^|/)(?:changelog|changes|breaking[-_]?changes|history|news|release[-_ ]?notes?|releases"
    r"|whats[-_]?new)[^/]*\.?(?:md|rst|txt|adoc|markdown)?$"
    r"|(?:^|/)(?:newsfragments|changelogs?(?:\.d)?|changes\.d|news|\.changes|\.changeset)/[^/]*$"
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
_ROLES = {role: re.compile(pattern, re.I) for role, pattern in _PATTERNS.items()}
"""In the order of their precedence."""
_CONTRIBUTORS = re.compile(
    r"(?:^|/)(?:license|licence|authors|contributors?|contributing|security|code_of_conduct)", re.I
)


@lru_cache(maxsize=65_536)
def role(path: str) -> Role:
    if len(path) > 2_000:
        return "other"
    return next((kind for kind, pattern in _ROLES.items() if pattern.search(path)), "other")


def is_for_users(path: str) -> bool:
    """Return whether a file is the changelog or the documentation that users read."""
    return role(path) == "changelog" or (role(path) == "documentation" and not _CONTRIBUTORS.search(path))
