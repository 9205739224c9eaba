"""Recognise database migrations."""

import re

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


def is_migration(path: str) -> bool:
    if not _MIGRATION.search(path) or _NONE.search(path):
        return False
    return not _VERSIONS.search(path) or bool(_KNOWN_VERSIONS.search(path))
