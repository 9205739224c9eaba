"""Conversion of users, organizations and sessions to rows and back."""

import re
from collections.abc import Sequence
from typing import Any

from stores.errors import ValidationFailed
from stores.ledger.account_tables import organizations, sessions, users
from stores.ledger.columns import columns_of
from stores.ledger.encoding import (
    address_key,
    check_id,
    check_keys,
    check_text,
    from_micros,
    optional_instant,
    optional_micros,
    to_micros,
)
from stores.ledger.rows import Values
from stores.records import Organization, Session, User

USER_COLUMNS = columns_of(users, User)
ORGANIZATION_COLUMNS = columns_of(organizations, Organization)
SESSION_COLUMNS = columns_of(sessions, Session)
USER_WIDTH = len(USER_COLUMNS)
ORGANIZATION_WIDTH = len(ORGANIZATION_COLUMNS)

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
    return {
        "id": user.id,
        "email": user.email,
        "email_key": address_key(user.email),
        "name": user.name,
        "password_hash": user.password_hash,
        "is_admin": user.is_admin,
        "avatar_url": user.avatar_url,
        "codehost_id": user.codehost_id,
        "created_at": to_micros(user.created_at),
        "bio": user.bio,
        "email_verified_at": optional_micros(user.email_verified_at),
    }


def to_user(row: Sequence[Any]) -> User:
    cells: list[Any] = list(row)
    cells[7], cells[9] = from_micros(cells[7]), optional_instant(cells[9])
    return User(*cells)


def organization_values(organization: Organization) -> Values:
    """Return every column of an organization with an empty feed."""
    check_id(organization.id)
    check_keys((organization.slug,))
    check_text((organization.name,))
    return {
        "id": organization.id,
        "name": organization.name,
        "slug": organization.slug,
        "is_personal": organization.is_personal,
        "created_at": to_micros(organization.created_at),
        "seq": 0,
        "batch": "",
    }


def to_organization(row: Sequence[Any]) -> Organization:
    cells: list[Any] = list(row)
    cells[4] = from_micros(cells[4])
    return Organization(*cells)


def session_values(session: Session) -> Values:
    check_id(session.id)
    check_keys((session.refresh_id, session.provider))
    check_text((session.user_agent, session.ip_address))
    return {
        "id": session.id,
        "user_id": session.user_id,
        "organization_id": session.organization_id,
        "refresh_id": session.refresh_id,
        "created_at": to_micros(session.created_at),
        "expires_at": to_micros(session.expires_at),
        "revoked_at": optional_micros(session.revoked_at),
        "provider": session.provider,
        "user_agent": session.user_agent,
        "ip_address": session.ip_address,
        "last_used_at": optional_micros(session.last_used_at),
    }


def to_session(row: Sequence[Any]) -> Session:
    cells: list[Any] = list(row)
    cells[4:7] = from_micros(cells[4]), from_micros(cells[5]), optional_instant(cells[6])
    cells[10] = optional_instant(cells[10])
    return Session(*cells)
