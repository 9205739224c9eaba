"""Role and area of a file, by its path."""

import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

Role = Literal["source", "test", "documentation", "changelog", "tooling", "lock", "manifest", "example", "other"]

_CHANGELOG = re.compile(
    r"(?:^|/)(?:changelog|changes|history|news|release[-_ ]?notes?|releases|version[-_]?history|whats[-_]?new)"
    r"[^/]*\.?(?:md|rst|txt|adoc|markdown)?$|(?:^|/)(?:newsfragments|changelog\.d|changes\.d|\.changes|\.changeset)/",
    re.I,
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|e2e|fixtures|testdata|__mocks__|__snapshots__|cypress)/"
    r"|(?:^|/)(?:test_[^/]*|conftest|[^/]*_test|[^/]*_spec|[^/]*\.(?:test|spec|stories))\.[a-z]+$",
    re.I,
)
_TOOLING = re.compile(
    r"(?:^|/)\.(?:github|gitlab|circleci|ci|vscode|idea|devcontainer|husky|buildkite|azure-pipelines|claude|cursor)"
    r"(?:/|$)|(?:^|/)(?:\.pre-commit-config|\.gitlab-ci|\.travis|appveyor|azure-pipelines|codecov|\.codecov"
    r"|renovate|dependabot|\.readthedocs|zizmor|mkdocs|netlify|vercel)\.(?:ya?ml|json5?)$"
    r"|(?:^|/)(?:tox\.ini|noxfile\.py|justfile|makefile|jenkinsfile|mypy\.ini|pytest\.ini|ruff\.toml|\.flake8|\.pylintrc"
    r"|\.editorconfig|\.gitignore|\.gitattributes|\.git_archival\.txt|\.mailmap|\.dockerignore|\.npmrc|\.nvmrc"
    r"|\.prettier[^/]*|\.eslint[^/]*|eslint\.config\.[a-z]+|jest\.config\.[a-z]+|vitest\.config\.[a-z]+|codeowners"
    r"|agents\.md|claude\.md|gemini\.md|\.cursorrules|\.python-version[^/]*|\.coveragerc|biome\.json|turbo\.json)$"
    r"|(?:^|/)(?:signatures?|scripts|hack|tools/ci|ci|benchmarks?|bench)/|^evals?/",
    re.I,
)
_LOCK = re.compile(
    r"(?:^|/)(?:[^/]*\.lock|[^/]*-lock\.(?:json|ya?ml)|go\.sum|npm-shrinkwrap\.json|gradle\.lockfile)$|(?:^|/)bun\.lockb$",
    re.I,
)
_MANIFEST = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pipfile"
    r"|package\.json|cargo\.toml|go\.mod|gemfile|[^/]*\.gemspec|composer\.json|pom\.xml|build\.gradle(?:\.kts)?"
    r"|mix\.exs|pubspec\.yaml|environment\.ya?ml|[^/]*\.csproj)$|(?:^|/)requirements/[^/]*\.(?:txt|in)$",
    re.I,
)
_DOCUMENTATION = re.compile(
    r"(?:^|/)(?:docs?|documentation|website|man|_static|wiki)/|\.(?:md|rst|adoc|markdown|ipynb)$|(?:^|/)(?:license"
    r"|licence|copying|authors|contributors|contributing|readme|notice|security|code_of_conduct)[^/]*$",
    re.I,
)
_EXAMPLE = re.compile(r"(?:^|/)(?:examples?|samples?|demos?|tutorials?|recipes|cookbook)/", re.I)
_SOURCE = re.compile(
    r"\.(?:py|pyi|pyx|pxd|ts|tsx|mts|cts|js|jsx|mjs|cjs|vue|svelte|rs|go|java|kt|kts|scala|rb|php|c|h|cc|cpp|hpp|cxx|m"
    r"|mm|swift|cs|fs|ex|exs|erl|hs|ml|clj|dart|lua|sh|bash|zsh|ps1|sql|r|jl|pl|zig|nim|proto|graphql|tf|html|jinja2?"
    r"|css|scss|sass|less)$",
    re.I,
)
_ORDER: tuple[tuple[re.Pattern[str], Role], ...] = (
    (_LOCK, "lock"),
    (_TEST, "test"),
    (_CHANGELOG, "changelog"),
    (_TOOLING, "tooling"),
    (_MANIFEST, "manifest"),
    (_EXAMPLE, "example"),
    (_DOCUMENTATION, "documentation"),
    (_SOURCE, "source"),
)
_WRAPPERS = frozenset(
    {"src", "lib", "packages", "apps", "crates", "pkg", "internal", "cmd", "libs", "modules", "python"}
)

_MIGRATION = re.compile(
    r"(?:^|/)(?:migrations?|migrate|alembic|versions|db/migrate|prisma/migrations|schema_migrations|changelogs?/db)/.*\.(?:py|sql|rb"
    r"|ts|js|php|go|ex|exs|up\.sql|xml|ya?ml)$|(?:^|/)(?:V\d[\w.]*__|U\d[\w.]*__|R__)[\w-]+\.sql$",
    re.I,
)
_NONE = re.compile(
    r"(?:^|/)(?:__init__\.py|env\.py|script\.py\.mako|index\.[tj]s)$|(?:^|/)(?:tests?|docs?|node_modules)/", re.I
)
_VERSIONS = re.compile(r"(?:^|/)versions/", re.I)
_KNOWN_VERSIONS = re.compile(r"(?:^|/)(?:alembic|migrations?)/(?:[^/]+/)*versions/|(?:^|/)versions/[0-9a-f]{4,}_", re.I)


@lru_cache(maxsize=65_536)
def role(path: str) -> Role:
    if len(path) > 2_000:
        return "other"
    return next((kind for pattern, kind in _ORDER if pattern.search(path)), "other")


@lru_cache(maxsize=65_536)
def area(path: str) -> str:
    """Return the first one or two folders of a path, or `.`."""
    folders = PurePosixPath(path).parts[:-1]
    if not folders:
        return "."
    if role(path) in ("test", "documentation", "tooling", "example", "changelog"):
        return folders[0]
    depth = 2 if folders[0] in _WRAPPERS else 1
    deeper = depth + 1 if len(folders) > depth and depth == 2 and folders[0] == "src" else depth
    return "/".join(folders[: min(deeper, len(folders))])


@lru_cache(maxsize=65_536)
def is_published(path: str) -> bool:
    if role(path) != "source":
        return False
    parts = PurePosixPath(path).parts
    return not any(part in ("vendor", "_vendor", "node_modules", "third_party", "dist", "build") for part in parts)


def is_migration(path: str) -> bool:
    if not _MIGRATION.search(path) or _NONE.search(path):
        return False
    return not _VERSIONS.search(path) or bool(_KNOWN_VERSIONS.search(path))
