"""Status histories of tasks, without text."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select

from stores.ledger import schema
from stores.ledger.encoding import from_micros, key_of
from stores.ledger.engine import in_chunks
from stores.ledger.store import Store

TASK = "task"

_table = schema.entities
_past = schema.entity_revisions
_ids = select(_table.c.id).where(_table.c.organization_id == bindparam("organization"), _table.c.type_key == TASK)
_current = select(
    *(_table.c[name] for name in ("id", "project_id", "visibility", "created_at")),
    *(_table.c[name] for name in ("revision", "status_key", "updated_at")),
).where(
    _table.c.organization_id == bindparam("organization"),
    _table.c.id.in_(bindparam("ids", expanding=True)),
    _table.c.type_key == TASK,
)
_earlier = select(_past.c.id, _past.c.revision, _past.c.metadata, _past.c.valid_from).where(
    _past.c.organization_id == bindparam("organization"), _past.c.id.in_(bindparam("ids", expanding=True))
)


@dataclass(frozen=True, slots=True)
class Move:
    revision: int
    status: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TaskHistory:
    id: str
    project_id: str | None
    visibility: str
    created_at: datetime
    moves: tuple[Move, ...]
    """In order; begins with the initial status."""


class TaskHistoryReads(Store):
    """Reads of histories. The caller checks permissions."""

    def task_ids(self, organization_id: str) -> list[str]:
        return [row[0] for row in self._all(_ids, {"organization": organization_id})]

    def task_histories(self, organization_id: str, task_ids: Iterable[str]) -> list[TaskHistory]:
        return [each for ids in in_chunks(task_ids) for each in self._histories(organization_id, ids)]

    def _histories(self, organization_id: str, ids: list[str]) -> list[TaskHistory]:
        values = {"organization": organization_id, "ids": ids}
        # Keyed by revision: one replaced between the two reads is in both.
        stated: defaultdict[str, dict[int, tuple[str, int]]] = defaultdict(dict)
        with self._database.read() as connection:
            rows = connection.execute(_current, values).all()
            for row in connection.execute(_earlier, values):
                stated[row.id][row.revision] = (_status(row.metadata), row.valid_from)
        for row in rows:
            stated[row.id][row.revision] = (row.status_key, row.updated_at)
        return [
            TaskHistory(row.id, row.project_id, row.visibility, from_micros(row.created_at), _moves(stated[row.id]))
            for row in rows
        ]


def _status(metadata: str) -> str:
    status = json.loads(metadata).get("status")
    return key_of(status) if isinstance(status, str) else ""


def _moves(stated: dict[int, tuple[str, int]]) -> tuple[Move, ...]:
    found: list[Move] = []
    for revision, (status, at) in sorted(stated.items()):
        if not found or found[-1].status != status:
            found.append(Move(revision, status, from_micros(at)))
    return tuple(found)
