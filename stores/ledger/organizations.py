"""Organizations: created, renamed, deleted with all content; roles that changes of them and their people need."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, Table, and_, delete, exists, or_, select, tuple_

from stores.clock import Clock
from stores.errors import Conflict, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import account_tables as tables
from stores.ledger import schema
from stores.ledger.account_tables import INVITATIONS, MEMBERSHIPS, NO_FEED, ORGANIZATIONS, UNANSWERED, check_slug
from stores.ledger.audit import AuditDraft, AuditedStore
from stores.ledger.encoding import Values, check_text, to_micros
from stores.ledger.engine import Database
from stores.ledger.store import clashing
from stores.records import GIVEN_BY, Organization, Role


@dataclass(frozen=True, slots=True)
class Permit:
    actor_id: str
    check: Callable[[Any, Any], None]
    """Called with the actor's role and the role to be taken away; raises to refuse."""

    def ask(self, connection: Connection, organization_id: str, now: datetime, before: Role | None = None) -> None:
        self.check(role_in(connection, organization_id, self.actor_id), before)


class Act(TypedDict, total=False):
    """Audit entry of a change, and the permit that it needs; without one all is permitted."""

    audit: AuditDraft | None
    permit: Permit | None


def role_in(connection: Connection, organization_id: str, user_id: str) -> Role | None:
    role: Role | None = MEMBERSHIPS.cell(connection, "role", organization_id=organization_id, user_id=user_id)
    return role


_giver = tables.memberships.alias("giver")

vouched = exists(
    select(_giver.c.role)
    .where(
        _giver.c.organization_id == INVITATIONS.c.organization_id,
        _giver.c.user_id == INVITATIONS.c.invited_by,
        or_(*(and_(_giver.c.role == giver, INVITATIONS.c.role.in_(given)) for giver, given in GIVEN_BY.items())),
    )
    .correlate(INVITATIONS.table)
)
"""SQL condition: the inviter may still give the role."""


def revoke_invitations_to(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """Revoke invitations to a user who joins or leaves a locked organization."""
    address = select(tables.users.c.email_key).where(tables.users.c.id == user_id).scalar_subquery()
    wanted = {"organization_id": organization_id, "email_key": address} | UNANSWERED
    INVITATIONS.change(connection, {"revoked_at": now}, **wanted)


def revoke_unvouched(connection: Connection, now: int, user_id: str) -> None:
    """Revoke a user's invitations to roles that the user may not give any more."""
    INVITATIONS.change(connection, {"revoked_at": now}, ~vouched, invited_by=user_id, **UNANSWERED)


_organizations = schema.organizations
_kept = _organizations.c.deleted_at.is_(None)

_OWNED = [table for table in reversed(schema.metadata.sorted_tables) if "organization_id" in table.c]
"""Tables to clear with an organization, referring tables first."""
PEOPLE = [table for table in _OWNED if hasattr(tables, table.name)]
CONTENT = [table for table in _OWNED if table not in PEOPLE]
PAGE = 500
"""Rows of content that are erased at once."""

PERSONAL_SLUG = "u-"
"""Reserved for personal organizations."""

DeletionListener = Callable[[str], None]


class OrganizationStore(AuditedStore):
    @contextmanager
    def _changing(self, organization_id: str, **act: Unpack[Act]) -> Iterator[Connection]:
        """Lock an organization, ask the permit, and audit the change when it is made."""
        with self._audited(act.get("audit")) as connection:
            lock_organization(connection, organization_id)
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, self._clock())
            yield connection


class Organizations(OrganizationStore):
    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock)
        self.on_delete: list[DeletionListener] = []
        """Called with the id before the content is erased."""

    def create_organization(
        self, organization: Organization, owner_id: str | None = None, audit: AuditDraft | None = None
    ) -> None:
        check_slug(organization.slug)
        if not organization.is_personal:
            _check_shared(organization.slug)
        with self._audited(audit) as connection:
            with clashing(f"An organization {organization.slug} exists already."):
                ORGANIZATIONS.insert(connection, organization, **NO_FEED)
            if owner_id is not None:
                insert_membership(connection, to_micros(self._clock()), owner_id, organization.id, "owner")

    def edit_organization(
        self, organization_id: str, *, name: str | None = None, slug: str | None = None, **act: Unpack[Act]
    ) -> Organization:
        changes: Values = {} if name is None else {"name": name}
        check_text((name,))
        if slug is not None:
            check_slug(slug)
            changes["slug"] = slug
        with self._changing(organization_id, **act) as connection:
            before = _there(connection, organization_id)
            if slug is not None and slug != before.slug:
                _check_shared(slug)
            if changes:
                with clashing(f"The slug {slug} is taken."):
                    ORGANIZATIONS.change(connection, changes, id=organization_id)
            return _there(connection, organization_id)

    def delete_organization(self, organization_id: str, **act: Unpack[Act]) -> None:
        """Delete an organization at once, then its content in pages, without blocking writers.

        Its audit entries go along; `erase_deleted` resumes an interrupted erasure.

        Raises:
            Conflict: It is a personal one.
        """
        with self._changing(organization_id, **act) as connection:
            if _there(connection, organization_id).is_personal:
                raise Conflict("A personal organization lasts as long as its user.", remediation="Delete the account.")
            close_organization(connection, to_micros(self._clock()), organization_id)
        self._erase((organization_id,))

    def erase_deleted(self) -> int:
        """Resume interrupted erasures; return how many."""
        found = [each.id for each in self._list(ORGANIZATIONS, ~_kept)]
        self._erase(found)
        return len(found)

    def organizations(self) -> list[Organization]:
        return self._list(ORGANIZATIONS, _kept)

    def organization(self, organization_id: str) -> Organization | None:
        return self._find(ORGANIZATIONS, _kept, id=organization_id)

    def organization_by_slug(self, slug: str) -> Organization | None:
        return self._find(ORGANIZATIONS, _kept, slug=slug)

    def _erase(self, closed: Iterable[str]) -> None:
        for organization_id in closed:
            for listener in self.on_delete:
                listener(organization_id)
            for table in CONTENT:
                while self._erase_page(table, organization_id):
                    pass
            with self._database.write() as connection:
                # Again, for a sign-in under way when the organization was closed.
                _delete_people(connection, organization_id)
                connection.execute(delete(_organizations).where(_organizations.c.id == organization_id, ~_kept))

    def _erase_page(self, table: Table, organization_id: str) -> bool:
        key = list(table.primary_key)
        page = select(*key).where(table.c.organization_id == organization_id).limit(PAGE)
        with self._database.write() as connection:
            found = [tuple(row) for row in connection.execute(page)]
            if found:
                connection.execute(delete(table).where(tuple_(*key).in_(found)))
            return bool(found)


def _check_shared(slug: str) -> None:
    if slug.startswith(PERSONAL_SLUG):
        raise ValidationFailed(
            f"Slugs that begin with {PERSONAL_SLUG} are those of personal organizations.",
            remediation="Choose another slug.",
            details={"field": "body.slug", "expected": f"slug that does not begin with {PERSONAL_SLUG}"},
        )


def _there(connection: Connection, organization_id: str, *, lock: bool = False) -> Organization:
    statement = ORGANIZATIONS.select(_kept, id=organization_id)
    row = connection.execute(statement.with_for_update(key_share=True) if lock else statement).first()
    if row is None:
        raise NotFound(f"Organization {organization_id} does not exist.")
    return ORGANIZATIONS.read(row)


def lock_organization(connection: Connection, organization_id: str) -> Organization:
    """Lock an organization and its members until the commit.

    Every write of content takes the same lock, so it never overlaps a change of membership or a deletion.
    """
    return _there(connection, organization_id, lock=True)


def require_member(connection: Connection, organization_id: str, user_id: str) -> None:
    if role_in(connection, organization_id, user_id) is None:
        raise InvalidRequest(
            "The user is not a member of the organization.", remediation="Add the user to the organization first."
        )


def close_organization(connection: Connection, now: int, organization_id: str) -> None:
    """End all memberships and free the slug; the content is erased later."""
    _delete_people(connection, organization_id)
    closed = {"deleted_at": now, "slug": f"deleted-{organization_id}", "name": ""}
    ORGANIZATIONS.change(connection, closed, id=organization_id)


def insert_membership(connection: Connection, now: int, user_id: str, organization_id: str, role: Role) -> None:
    """Make a user a member of a locked organization; invitations to the address end."""
    values = {"user_id": user_id, "organization_id": organization_id, "role": role, "created_at": now}
    with clashing("The user is a member of the organization already.", "The user or the organization does not exist."):
        MEMBERSHIPS.put(connection, values)
    revoke_invitations_to(connection, now, organization_id, user_id)


def _delete_people(connection: Connection, organization_id: str) -> None:
    for table in PEOPLE:
        connection.execute(delete(table).where(table.c.organization_id == organization_id))
