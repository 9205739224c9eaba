"""Tables of users, organizations and sessions as records."""

import re
from typing import Any

from stores.errors import ValidationFailed
from stores.ledger.account_tables import organizations, sessions, users
from stores.ledger.columns import RecordTable
from stores.ledger.encoding import address_key
from stores.records import Organization, Session, User

USERS = RecordTable(users, User, "created_at", "id")
ORGANIZATIONS = RecordTable(organizations, Organization, "id")
SESSIONS = RecordTable(sessions, Session, "-created_at", "id")
NO_FEED = {"seq": 0, "batch": ""}
"""Columns of an organization with an empty feed."""
USER_WIDTH, ORGANIZATION_WIDTH = len(USERS.columns), len(ORGANIZATIONS.columns)

SLUG_LENGTH = 64
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check_slug(slug: str) -> None:
    """Require 1 to 64 of a-z, 0-9 and single inner hyphens."""
    if len(slug) > SLUG_LENGTH or not _SLUG.fullmatch(slug):
        raise ValidationFailed(
            f"A slug has 1 to {SLUG_LENGTH} lower-case letters, digits and single hyphens between them.",
            details={"field": "body.slug", "expected": "slug"},
        )


def user_values(user: User) -> dict[str, Any]:
    """Return every column of a user except the preferences."""
    return USERS.values(user, email_key=address_key(user.email))
