"""Memory spaces: their members and state."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack
from uuid import uuid4

from sqlalchemy import Connection, Select, bindparam, delete, insert, or_, select, update

from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger.account_tables import memory_space_members, memory_spaces
from stores.ledger.audit import append_audit
from stores.ledger.columns import among, columns_of, here, reader, to_values
from stores.ledger.encoding import check_id, check_keys, check_text
from stores.ledger.engine import in_chunks, upsert
from stores.ledger.organizations import OrganizationStore, require_member
from stores.ledger.permits import Act
from stores.ledger.rows import Values
from stores.space_access import LETTING_IN
from stores.spaces import MemberDraft, MemorySpace, SpaceChange, SpaceMember

NOT_ENABLED = "scope_not_enabled"
MANUALLY = "manually_disabled"

_spaces = memory_spaces
_members = memory_space_members
_read_space, _to_member = reader(MemorySpace), reader(SpaceMember)
_PRINCIPAL = ("organization_id", "space_id", "principal_type", "principal_id")
_of_organization = (
    select(*columns_of(_spaces, MemorySpace))
    .where(here(_spaces, "of_organization"))
    .order_by(_spaces.c.created_at, _spaces.c.id)
)
# A private space exists for its user only.
_readable = _of_organization.where(
    or_(_spaces.c.memory_scope != "private", _spaces.c.scope_key == bindparam("of_user"))
)
_one = _of_organization.where(_spaces.c.id == bindparam("of_space"))
_some = _of_organization.where(among(_spaces.c.id))
_at_place = _of_organization.where(
    _spaces.c.memory_scope == bindparam("of_scope"), _spaces.c.scope_key == bindparam("of_key")
)
_members_of = (
    select(*columns_of(_members, SpaceMember))
    .where(here(_members, "of_organization"), _members.c.space_id == bindparam("of_space"))
    .order_by(_members.c.created_at, _members.c.id)
)
_members_as: Select[Any] = _members_of.where(
    _members.c.principal_type == bindparam("of_type"), _members.c.principal_id == bindparam("of_principal")
)


class Spaces(OrganizationStore):
    """Changes take a permit, checked first in the transaction."""

    def create(self, space: MemorySpace, **act: Unpack[Act]) -> MemorySpace:
        """Store a space, or return the one of its scope and key; an owner is added to shared and delegated ones."""
        audit = act.pop("audit", None)
        # The visibility key of its memories must fit into every index.
        check_keys((space.id, f"memory:{space.memory_scope}:{space.scope_key}"))
        check_text((space.name, space.description, space.scope_key))
        values = _space_values(space)
        with self._changing(space.organization_id, **act) as connection:
            place = {"of_scope": space.memory_scope, "of_key": values["scope_key"]}
            found = connection.execute(_at_place, place | {"of_organization": space.organization_id}).first()
            if found is not None:
                return _to_space(found)
            connection.execute(insert(_spaces), values)
            if space.memory_scope in LETTING_IN:
                owner = MemberDraft("user", space.created_by_user_id, "owner")
                _put(connection, space, owner, space.created_by_user_id, space.created_at)
            append_audit(connection, self._clock(), audit)
            return space

    def spaces(self, organization_id: str, user_id: str) -> list[MemorySpace]:
        """Return an organization's spaces, oldest first; of private ones, the user's."""
        return [
            _to_space(row) for row in self._all(_readable, {"of_organization": organization_id, "of_user": user_id})
        ]

    def space(self, organization_id: str, space_id: str) -> MemorySpace | None:
        return self._one(_one, {"of_organization": organization_id, "of_space": space_id}, _to_space)

    def some(self, organization_id: str, space_ids: Iterable[str]) -> list[MemorySpace]:
        """Return the existing spaces, whoever owns them."""
        return [
            _to_space(row)
            for ids in in_chunks(space_ids)
            for row in self._all(_some, {"of_organization": organization_id, "ids": ids})
        ]

    def members(self, organization_id: str, space_id: str) -> list[SpaceMember]:
        """Return the members of a space, oldest first; expired ones too."""
        return [_to_member(row) for row in self._all(_members_of, _where(organization_id, space_id))]

    def edit(self, organization_id: str, space_id: str, change: SpaceChange, **act: Unpack[Act]) -> MemorySpace:
        """Change and return a space; Forbidden if it is to be switched on and its scope is not enabled."""
        check_text((change.name, change.description))
        with self._changing(organization_id, **act) as connection:
            before = _there(connection, organization_id, space_id)
            after = replace(_changed(before, change), updated_at=self._clock())
            statement = update(_spaces).where(_spaces.c.organization_id == organization_id, _spaces.c.id == before.id)
            connection.execute(statement.values(_space_values(after)))
            return after

    def put_member(
        self, organization_id: str, space_id: str, draft: MemberDraft, actor_id: str, **act: Unpack[Act]
    ) -> SpaceMember:
        """Add or replace a member of a space; Conflict, with the reason, if it is disabled."""
        for word in (draft.principal_type, draft.principal_id, draft.role):
            check_id(word)
        with self._changing(organization_id, **act) as connection:
            space = _there(connection, organization_id, space_id)
            if space.state == "disabled":
                raise Conflict(
                    space.disabled_reason or NOT_ENABLED,
                    remediation="Switch the space on first: PATCH it with the state `active`.",
                )
            if draft.principal_type == "user":
                require_member(connection, organization_id, draft.principal_id)
            return _put(connection, space, draft, actor_id, self._clock())


def end_memberships_in_spaces(connection: Connection, user_id: str, organization_id: str | None = None) -> None:
    """Remove a user from the spaces of a locked organization, or of all."""
    of_user = (_members.c.principal_type == "user", _members.c.principal_id == user_id)
    where = () if organization_id is None else (_members.c.organization_id == organization_id,)
    connection.execute(delete(_members).where(*where, *of_user))


def _there(connection: Connection, organization_id: str, space_id: str) -> MemorySpace:
    row = connection.execute(_one, _where(organization_id, space_id)).first()
    if row is None:
        raise NotFound("memory_space_not_found")
    return _to_space(row)


def _changed(before: MemorySpace, change: SpaceChange) -> MemorySpace:
    state = change.state or before.state
    if state == "active" and before.disabled_reason == NOT_ENABLED:
        raise Forbidden(
            f"{NOT_ENABLED}: the scope `{before.memory_scope}` is not enabled.", remediation="Leave `state` out."
        )
    reason = before.disabled_reason or MANUALLY
    return replace(
        before,
        name=before.name if change.name is None else change.name,
        description=before.description if change.description is None else change.description,
        state=state,
        disabled_reason=reason if state == "disabled" else None,
        metadata={**before.metadata, **change.metadata},
    )


def _put(connection: Connection, space: MemorySpace, draft: MemberDraft, actor_id: str, now: datetime) -> SpaceMember:
    principal = (draft.principal_type, draft.principal_id, draft.role, draft.permissions, draft.expires_at)
    member = SpaceMember(space.organization_id, str(uuid4()), space.id, *principal, actor_id, now, now)
    insertion = upsert(connection.dialect.name, _members)
    renewed = {name: insertion.excluded[name] for name in ("role", "permissions", "expires_at", "updated_at")}
    keys = [_members.c[name] for name in _PRINCIPAL]
    connection.execute(insertion.on_conflict_do_update(index_elements=keys, set_=renewed), to_values(member))
    which = {"of_type": draft.principal_type, "of_principal": draft.principal_id}
    return _to_member(connection.execute(_members_as, _where(space.organization_id, space.id) | which).one())


def _where(organization_id: str, space_id: str) -> Values:
    return {"of_organization": organization_id, "of_space": space_id}


def _space_values(space: MemorySpace) -> Values:
    return to_values(space) | {"scope_key": space.scope_key or ""}


def _to_space(row: Sequence[Any]) -> MemorySpace:
    space = _read_space(row)
    return replace(space, scope_key=space.scope_key or None)
