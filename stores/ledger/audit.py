"""Audit log: append-only, written in the transaction of the action, each entry chained to the one before."""

import hashlib
import threading
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

import structlog
from sqlalchemy import BindParameter, ColumnElement, Connection, bindparam, func, insert, select, update

from stores.clock import Clock
from stores.errors import Unavailable
from stores.ledger.account_tables import audit_entries, audit_heads, audit_subjects
from stores.ledger.encoding import Values, check_keys, dump_json, from_micros, load_object, to_micros
from stores.ledger.engine import Database, insert_or_skip
from stores.ledger.store import Store
from stores.records import JsonObject

SubjectRole = Literal["resource", "source", "derived"]
FIRST = "0" * 64
PAGE = 1_000

log = structlog.get_logger("audit")

_entries, _heads, _subjects = audit_entries, audit_heads, audit_subjects
CHAINED = ("position", "id", "created_at", "organization_id", "actor_id", "action", "resource", "details", "request")
FACETS = ("family", "memory_scope", "project_id", "allowed")
_columns = [*(_entries.c[name] for name in CHAINED), _entries.c.hash]
_log: BindParameter[str] = bindparam("log")
_head = select(_heads.c.position, _heads.c.hash).where(_heads.c.organization_id == _log)
_lock_head = _head.with_for_update()
_move_head = (
    update(_heads)
    .where(_heads.c.organization_id == _log)
    .values(position=bindparam("new_position"), hash=bindparam("new_hash"))
)
_add_entry, _add_subjects = insert(_entries), insert(_subjects)


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
    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock)
        self._waiting: deque[tuple[datetime, AuditDraft]] = deque()
        self._writing = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "audit")

    def append(self, draft: AuditDraft) -> None:
        with self._database.write() as connection:
            append_audit(connection, self._clock(), draft)

    def append_soon(self, draft: AuditDraft) -> None:
        """Write an entry of a read without waiting for the disk; a kill may lose those of the last moment."""
        self._waiting.append((self._clock(), draft))
        # Each time: whether somebody is writing already cannot be known without a lock.
        self._writer.submit(self._settle_later)

    def settle(self) -> None:
        """Write the waiting entries in one transaction."""
        with self._writing:
            found = list(self._waiting)
            if found:
                with self._database.write() as connection:
                    for now, draft in found:
                        append_audit(connection, now, draft)
            for _ in found:
                self._waiting.popleft()

    def close(self) -> None:
        self._writer.shutdown(cancel_futures=True)
        with suppress(Unavailable):
            self.settle()

    def _settle_later(self) -> None:
        try:
            self.settle()
        except Unavailable:
            # They are written with the next ones, or when somebody reads.
            log.exception("audit_entries_wait", count=len(self._waiting))

    def entries(self, query: AuditQuery) -> list[AuditEntry]:
        """Return the matching entries, newest first."""
        self.settle()
        statement = (
            select(*_columns)
            .where(*_conditions(query))
            .order_by(_entries.c.position.desc())
            .limit(query.limit)
            .offset(query.offset)
        )
        return [_to_entry(row) for row in self._all(statement, {})]

    def faults(self, organization_id: str | None) -> list[str]:
        """Verify the chain of a log; return a sentence about its first fault, if there is one."""
        self.settle()
        owner, last, position, subjects = organization_id or "", FIRST, 0, 0
        # Before the head: others go on writing, and what belongs to the log is never behind its head.
        ((top,),) = self._all(select(func.max(_entries.c.position)).where(_entries.c.organization_id == owner), {})
        head = self._first(_head, {"log": owner})
        end, hash_ = (0, FIRST) if head is None else head
        if (top or 0) > end:
            return [f"entries of the audit log after {end} do not belong to it"]
        while position < end:
            page = select(*_columns, *(_entries.c[name] for name in FACETS)).where(
                _entries.c.organization_id == owner, _entries.c.position.between(position + 1, end)
            )
            rows = self._all(page.order_by(_entries.c.position).limit(PAGE), {})
            if not rows:
                return [f"entries of the audit log after {position} are missing"]
            for row in rows:
                position += 1
                if row.position != position:
                    return [f"entry {position} of the audit log is missing"]
                last, draft = _chained(last, row[: len(CHAINED)]), _to_entry(row[: len(_columns)]).draft
                subjects += len(draft.subjects)
                # The filters read these columns, which must say the same as the entry.
                if last != row.hash or {name: getattr(row, name) for name in FACETS} != _facets(draft):
                    return [f"entry {position} of the audit log ({row.id}) was altered"]
        if last != hash_:
            return [f"entry {end} of the audit log is not the last that was written"]
        count = select(func.count()).where(_subjects.c.organization_id == owner, _subjects.c.position <= end)
        ((named,),) = self._all(count, {})
        return [] if named == subjects else [f"the audit log names {subjects} records, and {named} are found by it"]


def append_audit(connection: Connection, now: datetime, draft: AuditDraft | None) -> str:
    """Write an entry, if there is one; return its id, or nothing."""
    if draft is None:
        return ""
    check_keys((draft.action, draft.actor_id, draft.organization_id, draft.resource))
    log = draft.organization_id or ""
    head = connection.execute(_lock_head, {"log": log}).first()
    if head is None:
        new = {"organization_id": log, "position": 0, "hash": FIRST}
        connection.execute(insert_or_skip(connection.dialect.name, _heads), new)
        head = connection.execute(_lock_head, {"log": log}).one()
    values: Values = {
        "position": head.position + 1,
        "id": uuid4().hex,
        "created_at": to_micros(now),
        "organization_id": log,
        "actor_id": draft.actor_id,
        "action": draft.action,
        "resource": draft.resource,
        "details": dump_json(draft.details),
        "request": dump_json(draft.request),
    }
    hash_ = _chained(head.hash, [values[name] for name in CHAINED])
    connection.execute(_move_head, {"log": log, "new_position": values["position"], "new_hash": hash_})
    connection.execute(_add_entry, values | _facets(draft) | {"hash": hash_})
    place = {"organization_id": log, "position": values["position"]}
    if rows := [place | {"role": role, "subject": subject} for role, subject in sorted(draft.subjects)]:
        connection.execute(_add_subjects, rows)
    return str(values["id"])


class AuditedStore(Store):
    @contextmanager
    def _audited(self, audit: AuditDraft | None) -> Iterator[Connection]:
        """Yield a transaction that ends with an audit entry, if there is one."""
        with self._database.write() as connection:
            yield connection
            append_audit(connection, self._clock(), audit)


def _facets(draft: AuditDraft) -> Values:
    scope, project, allowed = (draft.details.get(name) for name in ("memory_scope", "project_id", "policy_allowed"))
    return {
        "family": draft.action.partition(".")[0],
        "memory_scope": scope if isinstance(scope, str) else None,
        "project_id": project if isinstance(project, str) else None,
        "allowed": allowed if isinstance(allowed, bool) else None,
    }


def _chained(before: str, cells: Sequence[Any]) -> str:
    told = dump_json([before, *cells])
    return hashlib.sha256(told.encode()).hexdigest()


def detailed(draft: AuditDraft | None, details: JsonObject) -> AuditDraft | None:
    return None if draft is None else replace(draft, details={**draft.details, **details})


def _conditions(query: AuditQuery) -> list[ColumnElement[bool]]:
    log = query.organization_id or ""
    found: list[ColumnElement[bool]] = [_entries.c.organization_id == log]
    names = ("actor_id", "memory_scope", "project_id", "allowed")
    wanted = {name: value for name in names if (value := getattr(query, name)) is not None}
    found += [_entries.c[name] == value for name, value in wanted.items()]
    for role, subject in query.subjects:
        named = select(_subjects.c.position).where(_subjects.c.organization_id == log, _subjects.c.subject == subject)
        found.append(_entries.c.position.in_(named if role is None else named.where(_subjects.c.role == role)))
    if query.action is not None and query.action.endswith("."):
        family, _, rest = query.action.partition(".")
        # As expressions, where the index of another column is shorter or has the wanted order.
        found.append((_entries.c.family + "" if wanted else _entries.c.family) == family)
        if rest:
            found.append((_entries.c.action + "").startswith(query.action, autoescape=True))
    elif query.action is not None:
        found.append(_entries.c.action == query.action)
    if query.since is not None:
        found.append(_entries.c.created_at >= to_micros(query.since))
    if query.until is not None:
        found.append(_entries.c.created_at < to_micros(query.until))
    return found


def _to_entry(row: Sequence[Any]) -> AuditEntry:
    position, entry_id, created_at, log, actor, action, resource, details, request, hash_ = row
    draft = AuditDraft(action, log or None, actor, resource, load_object(details), load_object(request))
    return AuditEntry(entry_id, from_micros(created_at), draft, position, hash_)
