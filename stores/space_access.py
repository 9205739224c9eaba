"""What memory spaces give to a user, and take from everybody."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

SpacePlace = tuple[str, str]
"""A memory scope and its key; an empty one for the organization's."""

LETTING_IN = ("shared", "delegated")
"""Scopes whose memories are for the members of their space, and for nobody else."""
WRITING_ROLES = frozenset({"writer", "maintainer", "owner"})
READING_ROLES = frozenset({"reader"}) | WRITING_ROLES


@dataclass(frozen=True, slots=True)
class SpaceGrant:
    """What a membership in a shared or delegated space gives, once it reads at all."""

    place: SpacePlace
    writes: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SpaceAccess:
    """What memory spaces are to one user."""

    granted: tuple[SpaceGrant, ...] = ()
    """By active spaces, until the membership expires."""
    disabled: frozenset[SpacePlace] = frozenset()
    """Where nobody reads or writes memories, as far as it may be the user's concern."""

    @property
    def until(self) -> datetime | None:
        """When the next of the memberships expires."""
        return min((each.expires_at for each in self.granted if each.expires_at is not None), default=None)


NO_SPACES = SpaceAccess()


def may_read_by(role: str, permissions: Collection[str]) -> bool:
    """Whether a member of a space reads its memories; a role that nobody knows gives nothing by itself."""
    return role in READING_ROLES or bool({"read", "write"}.intersection(permissions))


def may_write_by(role: str, permissions: Collection[str]) -> bool:
    """Whether a member of a space adds memories to it."""
    return role in WRITING_ROLES or "write" in permissions
