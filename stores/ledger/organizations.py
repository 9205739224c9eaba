"""Organizations: created, renamed, and deleted with all content."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Unpack

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from stores.clock import Clock
from stores.errors import Conflict, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import account_tables, schema
from stores.ledger.account_rows import ORGANIZATION_COLUMNS, check_slug, organization_values, to_organization
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.encoding import check_text, to_micros
from stores.ledger.engine import IN_CHUNK, Database
from stores.ledger.permits import Act, role_in
from stores.ledger.revoke_invitations import revoke_invitations_to
from stores.ledger.rows import Values
from stores.ledger.store import Store, clashing
from stores.records import Organization, Role

_organizations = schema.organizations
_kept = _organizations.c.deleted_at.is_(None)
_all_organizations = select(*ORGANIZATION_COLUMNS).where(_kept).order_by(_organizations.c.id)
_deleted = select(_organizations.c.id).where(_organizations.c.deleted_at.is_not(None)).order_by(_organizations.c.id)
_organization = select(*ORGANIZATION_COLUMNS).where(_organizations.c.id == bindparam("organization"), _kept)
_by_slug = select(*ORGANIZATION_COLUMNS).where(_organizations.c.slug == bindparam("slug"), _kept)
# Every write of content takes the same lock, so it never overlaps a change of membership or a deletion.
_lock = _organization.with_for_update(key_share=True)

PEOPLE = (
    account_tables.oauth_codes,
    account_tables.oauth_grants,
    account_tables.device_logins,
    account_tables.api_keys,
    account_tables.invitations,
    account_tables.memory_space_members,
    account_tables.memory_spaces,
    account_tables.team_projects,
    account_tables.team_members,
    account_tables.teams,
    account_tables.project_members,
    account_tables.sessions,
    account_tables.memberships,
    account_tables.audit_entries,
    account_tables.audit_subjects,
    account_tables.audit_heads,
)
"""Tables to clear with an organization, referring tables first."""

CONTENT: tuple[tuple[Table, str], ...] = (
    (schema.chunks, "id"),
    (schema.payload_texts, "id"),
    (schema.raw_memories, "id"),
    (schema.documents, "id"),
    (schema.relations, "id"),
    (schema.entity_labels, "entity_id"),
    (schema.citations, "record_id"),
    (schema.entity_revisions, "id"),
    (schema.entities, "id"),
    (schema.changes, "sequence"),
    (schema.idempotency_keys, "slot"),
    (schema.leases, "name"),
    (schema.jobs, "id"),
    (schema.rejections, "memory_id"),
    (schema.project_access, "project_id"),
)
"""With the column by which the table is erased in pages."""

PERSONAL_SLUG = "u-"
"""Reserved for personal organizations."""

DeletionListener = Callable[[str], None]


class OrganizationStore(Store):
    @contextmanager
    def _changing(self, organization_id: str, **act: Unpack[Act]) -> Iterator[Connection]:
        """Lock an organization, ask the permit, and audit the change when it is made."""
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, self._clock())
            yield connection
            append_audit(connection, self._clock(), act.get("audit"))


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
        with self._database.write() as connection:
            now = self._clock()
            with clashing(f"An organization {organization.slug} exists already."):
                connection.execute(insert(_organizations), organization_values(organization))
            if owner_id is not None:
                insert_membership(connection, to_micros(now), owner_id, organization.id, "owner")
            append_audit(connection, now, audit)

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
                statement = update(_organizations).where(_organizations.c.id == organization_id).values(changes)
                with clashing(f"The slug {slug} is taken."):
                    connection.execute(statement)
            return _there(connection, organization_id)

    def delete_organization(self, organization_id: str, **act: Unpack[Act]) -> None:
        """Delete an organization at once, then its content in pages, without blocking writers.

        Its audit entries go along; `erase_deleted` resumes an interrupted erasure.

        Raises:
            Conflict: It is a personal one.
        """
        with self._changing(organization_id, **act) as connection:
            if _there(connection, organization_id).is_personal:
                raise Conflict(
                    "A personal organization lasts as long as its user.", remediation="Delete the account instead."
                )
            close_organization(connection, to_micros(self._clock()), organization_id)
        self._erase((organization_id,))

    def erase_deleted(self) -> int:
        """Resume interrupted erasures; return how many."""
        found = [row[0] for row in self._all(_deleted, {})]
        self._erase(found)
        return len(found)

    def organizations(self) -> list[Organization]:
        return [to_organization(row) for row in self._all(_all_organizations, {})]

    def organization(self, organization_id: str) -> Organization | None:
        return self._one(_organization, {"organization": organization_id}, to_organization)

    def organization_by_slug(self, slug: str) -> Organization | None:
        return self._one(_by_slug, {"slug": slug}, to_organization)

    def _erase(self, closed: Iterable[str]) -> None:
        for organization_id in closed:
            for listener in self.on_delete:
                listener(organization_id)
            for table, column in CONTENT:
                while self._erase_page(table, column, organization_id):
                    pass
            with self._database.write() as connection:
                # Again, for a sign-in under way when the organization was closed.
                _delete_people(connection, organization_id)
                connection.execute(delete(_organizations).where(_organizations.c.id == organization_id, ~_kept))

    def _erase_page(self, table: Table, column: str, organization_id: str) -> bool:
        key, of_organization = table.c[column], table.c.organization_id == organization_id
        with self._database.write() as connection:
            found = connection.execute(select(key).where(of_organization).limit(IN_CHUNK)).scalars().all()
            if found:
                connection.execute(delete(table).where(of_organization, key.in_(found)))
            return bool(found)


def _check_shared(slug: str) -> None:
    if slug.startswith(PERSONAL_SLUG):
        raise ValidationFailed(
            f"Slugs that begin with {PERSONAL_SLUG} are those of personal organizations.",
            remediation="Choose another slug.",
            details={"field": "body.slug", "expected": f"slug that does not begin with {PERSONAL_SLUG}"},
        )


def _there(connection: Connection, organization_id: str) -> Organization:
    return to_organization(connection.execute(_organization, {"organization": organization_id}).one())


def lock_organization(connection: Connection, organization_id: str) -> Organization:
    """Lock an organization and its members until the commit."""
    row = connection.execute(_lock, {"organization": organization_id}).first()
    if row is None:
        raise NotFound(f"Organization {organization_id} does not exist.")
    return to_organization(row)


def require_member(connection: Connection, organization_id: str, user_id: str) -> None:
    if role_in(connection, organization_id, user_id) is None:
        raise InvalidRequest(
            "The user is no member of the organization.", remediation="Add the user to the organization first."
        )


def close_organization(connection: Connection, now: int, organization_id: str) -> None:
    """End all memberships and free the slug; the content is erased later."""
    _delete_people(connection, organization_id)
    closed = {"deleted_at": now, "slug": f"deleted-{organization_id}", "name": ""}
    connection.execute(update(_organizations).where(_organizations.c.id == organization_id).values(closed))


def insert_membership(connection: Connection, now: int, user_id: str, organization_id: str, role: Role) -> None:
    """Make a user a member of a locked organization; invitations to the address end."""
    values = {"user_id": user_id, "organization_id": organization_id, "role": role, "created_at": now}
    with clashing("The user is a member of the organization already.", "The user or the organization does not exist."):
        connection.execute(insert(schema.memberships), values)
    revoke_invitations_to(connection, now, organization_id, user_id)


def _delete_people(connection: Connection, organization_id: str) -> None:
    for table in PEOPLE:
        connection.execute(delete(table).where(table.c.organization_id == organization_id))
