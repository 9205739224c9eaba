"""Conversion of users, organizations and sessions to rows and back."""

import re

from stores.errors import ValidationFailed
from stores.ledger.account_tables import organizations, sessions, users
from stores.ledger.columns import columns_of, reader, to_values
from stores.ledger.encoding import address_key, check_id, check_keys, check_text
from stores.ledger.rows import Values
from stores.records import Organization, Session, User

USER_COLUMNS = columns_of(users, User)
ORGANIZATION_COLUMNS = columns_of(organizations, Organization)
SESSION_COLUMNS = columns_of(sessions, Session)
USER_WIDTH = len(USER_COLUMNS)
ORGANIZATION_WIDTH = len(ORGANIZATION_COLUMNS)
to_user, to_organization, to_session = reader(User), reader(Organization), reader(Session)

SLUG_LENGTH = 64
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check_slug(slug: str) -> None:
    """Require 1 to 64 of a-z, 0-9 and single inner hyphens."""
    if len(slug) > SLUG_LENGTH or not _SLUG.fullmatch(slug):
        raise ValidationFailed(
            f"A slug has 1 to {SLUG_LENGTH} lower-case letters, digits and single hyphens between them.",
            details={"field": "body.slug", "expected": "slug"},
        )


def user_values(user: User) -> Values:
    """Return every column of a user except the preferences."""
    check_id(user.id)
    check_keys((address_key(user.email),))
    check_text((user.email, user.name, user.avatar_url, user.bio))
    return to_values(user) | {"email_key": address_key(user.email)}


def organization_values(organization: Organization) -> Values:
    """Return every column of an organization with an empty feed."""
    check_id(organization.id)
    check_keys((organization.slug,))
    check_text((organization.name,))
    return to_values(organization) | {"seq": 0, "batch": ""}


def session_values(session: Session) -> Values:
    check_id(session.id)
    check_keys((session.refresh_id, session.provider))
    check_text((session.user_agent, session.ip_address))
    return to_values(session)
