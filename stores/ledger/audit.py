"""Audit log: append-only, written in the transaction of the action, each entry chained to the one before."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import BindParameter, ColumnElement, Connection, bindparam, insert, select, update

from stores.ledger.account_tables import audit_entries, audit_heads, audit_subjects
from stores.ledger.encoding import check_keys, dump_json, from_micros, load_object, to_micros
from stores.ledger.engine import insert_or_skip
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.records import JsonObject

SubjectRole = Literal["resource", "source", "derived"]
FIRST = "0" * 64
PAGE = 1_000

_entries, _heads, _subjects = audit_entries, audit_heads, audit_subjects
CHAINED = ("id", "created_at", "organization_id", "actor_id", "action", "resource", "details", "request")
_columns = [_entries.c[name] for name in CHAINED]
_log: BindParameter[str] = bindparam("log")
_advance = (
    update(_heads)
    .where(_heads.c.organization_id == _log)
    .values(position=_heads.c.position + 1)
    .returning(_heads.c.position, _heads.c.hash)
)
_settle = update(_heads).where(_heads.c.organization_id == _log).values(hash=bindparam("new_hash"))
_head = select(_heads.c.position, _heads.c.hash).where(_heads.c.organization_id == _log)


@dataclass(frozen=True, slots=True)
class AuditDraft:
    action: str
    """`<noun>.<verb>`: `project.create`, `member.remove`."""
    organization_id: str | None
    actor_id: str | None
    resource: str | None = None
    details: JsonObject = field(default_factory=dict)
    request: JsonObject = field(default_factory=dict)

    @property
    def subjects(self) -> set[tuple[SubjectRole, str]]:
        """Return the ids of the records that it is about."""
        found: set[tuple[SubjectRole, str]] = set()
        roles: tuple[tuple[SubjectRole, str], ...] = (("source", "source_ids"), ("derived", "derived_ids"))
        for role, name in roles:
            told = self.details.get(name)
            found |= {(role, each) for each in (told if isinstance(told, list) else ()) if isinstance(each, str)}
        return found | ({("resource", self.resource)} if self.resource else set())


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: str
    created_at: datetime
    draft: AuditDraft
    position: int
    """Place in its log, from 1."""
    hash: str
    """SHA-256 of the hash before it and this entry."""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Filter of audit entries; None matches all."""

    organization_id: str | None
    """None for the server's entries, never those of all organizations."""
    actor_id: str | None = None
    action: str | None = None
    """With a final dot, a prefix."""
    subjects: Collection[tuple[SubjectRole | None, str]] = ()
    """Records that it is about, in this role or in any."""
    memory_scope: str | None = None
    project_id: str | None = None
    allowed: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    limit: int = 50
    offset: int = 0


class Audit(Store):
    def append(self, draft: AuditDraft) -> None:
        """Write an entry outside of a transaction."""
        with self._database.write() as connection:
            append_audit(connection, self._clock(), draft)

    def entries(self, query: AuditQuery) -> list[AuditEntry]:
        """Return the matching entries, newest first."""
        statement = (
            select(*_columns, _entries.c.position, _entries.c.hash)
            .where(*_conditions(query))
            .order_by(_entries.c.created_at.desc(), _entries.c.id.desc())
            .limit(query.limit)
            .offset(query.offset)
        )
        return [_to_entry(row) for row in self._all(statement, {})]

    def faults(self, organization_id: str | None) -> list[str]:
        """Verify the chain of a log; return a sentence about its first fault, if there is one."""
        hash_, position = FIRST, 0
        for number, stored, row in self._chain(organization_id):
            position += 1
            if number != position:
                return [f"entry {position} of the audit log is missing"]
            hash_ = _chained(hash_, number, row)
            if hash_ != stored:
                return [f"entry {position} of the audit log ({row[0]}) was altered"]
        head = self._first(_head, {"log": organization_id or ""})
        is_whole = position == 0 if head is None else tuple(head) == (position, hash_)
        return [] if is_whole else [f"entries of the audit log after {position} are missing"]

    def _chain(self, organization_id: str | None) -> Iterator[tuple[int, str, Sequence[Any]]]:
        last = 0
        while True:
            page = (
                select(_entries.c.position, _entries.c.hash, *_columns)
                .where(_entries.c.organization_id == organization_id, _entries.c.position > last)
                .order_by(_entries.c.position)
                .limit(PAGE)
            )
            rows = self._all(page, {})
            yield from ((row[0], row[1], row[2:]) for row in rows)
            if len(rows) < PAGE:
                return
            last = rows[-1][0]


def append_audit(connection: Connection, now: datetime, draft: AuditDraft | None) -> str:
    """Write an entry, if there is one; return its id, or nothing."""
    if draft is None:
        return ""
    check_keys((draft.action, draft.actor_id, draft.organization_id, draft.resource))
    log, created_at = draft.organization_id or "", to_micros(now)
    head = connection.execute(_advance, {"log": log}).first()
    if head is None:
        new = {"organization_id": log, "position": 0, "hash": FIRST}
        connection.execute(insert_or_skip(connection.dialect.name, _heads), new)
        head = connection.execute(_advance, {"log": log}).one()
    values: Values = {
        "id": uuid4().hex,
        "created_at": created_at,
        "organization_id": draft.organization_id,
        "actor_id": draft.actor_id,
        "action": draft.action,
        "resource": draft.resource,
        "details": dump_json(draft.details),
        "request": dump_json(draft.request),
    }
    hash_ = _chained(head.hash, head.position, [values[name] for name in CHAINED])
    connection.execute(_settle, {"log": log, "new_hash": hash_})
    connection.execute(insert(_entries), values | _facets(draft) | {"position": head.position, "hash": hash_})
    named = {"organization_id": log, "created_at": created_at, "entry_id": values["id"]}
    rows = [named | {"role": role, "subject": subject} for role, subject in sorted(draft.subjects)]
    if rows:
        connection.execute(insert(_subjects), rows)
    return str(values["id"])


def _facets(draft: AuditDraft) -> Values:
    scope, project, allowed = (draft.details.get(name) for name in ("memory_scope", "project_id", "policy_allowed"))
    return {
        "memory_scope": scope if isinstance(scope, str) else None,
        "project_id": project if isinstance(project, str) else None,
        "allowed": allowed if isinstance(allowed, bool) else None,
    }


def _chained(before: str, position: int, cells: Sequence[Any]) -> str:
    told = dump_json([before, position, *cells])
    return hashlib.sha256(told.encode()).hexdigest()


def detailed(draft: AuditDraft | None, details: JsonObject) -> AuditDraft | None:
    return None if draft is None else replace(draft, details={**draft.details, **details})


def _conditions(query: AuditQuery) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [_entries.c.organization_id == query.organization_id]
    wanted = ("actor_id", "memory_scope", "project_id", "allowed")
    found += [_entries.c[name] == value for name in wanted if (value := getattr(query, name)) is not None]
    of_log = select(_subjects.c.entry_id).where(_subjects.c.organization_id == (query.organization_id or ""))
    for role, subject in query.subjects:
        named = of_log.where(_subjects.c.subject == subject)
        found.append(_entries.c.id.in_(named if role is None else named.where(_subjects.c.role == role)))
    if query.action is not None and query.action.endswith("."):
        found += [_entries.c.action > query.action, _entries.c.action < query.action[:-1] + "/"]
    elif query.action is not None:
        found.append(_entries.c.action == query.action)
    if query.since is not None:
        found.append(_entries.c.created_at >= to_micros(query.since))
    if query.until is not None:
        found.append(_entries.c.created_at < to_micros(query.until))
    return found


def _to_entry(row: Sequence[Any]) -> AuditEntry:
    cells: list[Any] = list(row)
    draft = AuditDraft(cells[4], cells[2], cells[3], cells[5], load_object(cells[6]), load_object(cells[7]))
    return AuditEntry(cells[0], from_micros(cells[1]), draft, *cells[8:])
