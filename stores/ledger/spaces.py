"""Memory spaces: their members and state."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Unpack
from uuid import uuid4

from sqlalchemy import Connection, or_

from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger.account_tables import memory_space_members, memory_spaces
from stores.ledger.audit import append_audit
from stores.ledger.columns import RecordTable
from stores.ledger.encoding import Values, check_keys
from stores.ledger.organizations import Act, OrganizationStore, require_member
from stores.spaces import LETTING_IN, MemberDraft, MemorySpace, SpaceMember

NOT_ENABLED = "scope_not_enabled"
MANUALLY = "manually_disabled"

_spaces = RecordTable(memory_spaces, MemorySpace, "created_at", "id")
_members = RecordTable(memory_space_members, SpaceMember, "created_at", "id")
_PRINCIPAL = ("organization_id", "space_id", "principal_type", "principal_id")


class Spaces(OrganizationStore):
    def create(self, space: MemorySpace, **act: Unpack[Act]) -> MemorySpace:
        """Store a space, or return the one of its scope and key; an owner is added to shared and delegated ones."""
        audit = act.pop("audit", None)
        # The visibility key of its memories must fit into every index.
        check_keys((f"memory:{space.memory_scope}:{space.scope_key}",))
        with self._changing(space.organization_id, **act) as connection:
            place: Values = {"organization_id": space.organization_id, "memory_scope": space.memory_scope}
            found = _spaces.one(connection, **place, scope_key=space.scope_key)
            if found is not None:
                return found
            _spaces.insert(connection, space)
            if space.memory_scope in LETTING_IN:
                owner = MemberDraft("user", space.created_by_user_id, "owner")
                _put(connection, space, owner, space.created_by_user_id, space.created_at)
            append_audit(connection, self._clock(), audit)
            return space

    def spaces(self, organization_id: str, user_id: str) -> list[MemorySpace]:
        """Return an organization's spaces, oldest first; of private ones, the user's."""
        # A private space exists for its user only.
        readable = or_(memory_spaces.c.memory_scope != "private", memory_spaces.c.scope_key == user_id)
        return self._list(_spaces, readable, organization_id=organization_id)

    def space(self, organization_id: str, space_id: str) -> MemorySpace | None:
        return self._find(_spaces, organization_id=organization_id, id=space_id)

    def some(self, organization_id: str, space_ids: Iterable[str]) -> list[MemorySpace]:
        named = memory_spaces.c.id.in_(sorted({*space_ids}))
        return self._list(_spaces, named, organization_id=organization_id)

    def members(self, organization_id: str, space_id: str) -> list[SpaceMember]:
        """Return the members of a space, oldest first; expired ones too."""
        return self._list(_members, organization_id=organization_id, space_id=space_id)

    def edit(self, organization_id: str, space_id: str, changes: Values, **act: Unpack[Act]) -> MemorySpace:
        """Change `name`, `description`, `state`, and keys of `metadata`; return the space.

        Forbidden if it is to be switched on and its scope is not enabled.
        """
        with self._changing(organization_id, **act) as connection:
            before = _there(connection, organization_id, space_id)
            after = replace(_changed(before, changes), updated_at=self._clock())
            _spaces.change(connection, _spaces.values(after), organization_id=organization_id, id=space_id)
            return after

    def put_member(
        self, organization_id: str, space_id: str, draft: MemberDraft, actor_id: str, **act: Unpack[Act]
    ) -> SpaceMember:
        """Add or replace a member of a space; Conflict, with the reason, if it is disabled."""
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
    where = {} if organization_id is None else {"organization_id": organization_id}
    _members.remove(connection, principal_type="user", principal_id=user_id, **where)


def _there(connection: Connection, organization_id: str, space_id: str) -> MemorySpace:
    space = _spaces.one(connection, organization_id=organization_id, id=space_id)
    if space is None:
        raise NotFound("memory_space_not_found")
    return space


def _changed(before: MemorySpace, changes: Values) -> MemorySpace:
    after = replace(before, **changes | {"metadata": before.metadata | changes.get("metadata", {})})
    if after.state == "active" and before.disabled_reason == NOT_ENABLED:
        raise Forbidden(
            f"{NOT_ENABLED}: the scope `{before.memory_scope}` is not enabled.", remediation="Leave `state` out."
        )
    reason = before.disabled_reason or MANUALLY
    return replace(after, disabled_reason=reason if after.state == "disabled" else None)


def _put(connection: Connection, space: MemorySpace, draft: MemberDraft, actor_id: str, now: datetime) -> SpaceMember:
    principal = (draft.principal_type, draft.principal_id, draft.role, draft.permissions, draft.expires_at)
    member = SpaceMember(space.organization_id, str(uuid4()), space.id, *principal, actor_id, now, now)
    values = _members.values(member)
    renewed = {name: values[name] for name in ("role", "permissions", "expires_at", "updated_at")}
    found = _members.renew(connection, renewed, **{name: values[name] for name in _PRINCIPAL})
    if found is None:
        _members.insert(connection, member)
    return found or member
