"""Counts of visible records and relations, and histories of tasks."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BindParameter, and_, bindparam, func, select

from stores.ledger import schema
from stores.ledger.damage import sound
from stores.ledger.encoding import from_micros, key_of, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.relations import holds, present
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Store
from stores.records import Entity

MOST_ASSIGNEES = 200

_table = schema.entities
_labels = schema.entity_labels
_relations = schema.relations
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)


_hidden = select(_table.c.id).where(
    _table.c.organization_id == bindparam("organization"), ~_table.c.visibility.in_(_visible)
)
# Hidden ids are read once from an index: looking up both ends of each relation takes twenty times as long.
_relations_seen = (
    select(_relations.c.name, func.count())
    .where(
        _relations.c.organization_id == bindparam("organization"),
        _relations.c.visibility.in_(_visible),
        _relations.c.source_id.not_in(_hidden),
        _relations.c.target_id.not_in(_hidden),
    )
    .group_by(_relations.c.name)
    .order_by(_relations.c.name)
)
_relation_counts, _relation_counts_then = (_relations_seen.where(which) for which in (present(), holds()))
_open_tasks = and_(
    _table.c.organization_id == bindparam("organization"),
    _table.c.project_id == bindparam("project"),
    _table.c.type_key == "task",
    _table.c.status_key != "archived",
    _table.c.visibility.in_(_visible),
)
_task_counts = (
    select(_table.c.status_key, _table.c.priority_key, func.count())
    .where(_open_tasks)
    .group_by(_table.c.status_key, _table.c.priority_key)
)
_assigned = (
    select(_labels.c.label, _table.c.status_key, func.count(), func.min(_table.c.id))
    .join(_labels, and_(_labels.c.organization_id == _table.c.organization_id, _labels.c.entity_id == _table.c.id))
    .where(_open_tasks, _labels.c.kind == "assignee")
    .group_by(_labels.c.label, _table.c.status_key)
)
_by_ids = select(*entity_columns(_table)).where(
    _table.c.organization_id == bindparam("organization"), _table.c.id.in_(bindparam("ids", expanding=True))
)


@dataclass(frozen=True, slots=True)
class AssigneeTally:
    name: str
    by_status: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True)
class TaskTally:
    """Without archived tasks."""

    by_status: Mapping[str, int]
    by_priority: Mapping[str, int]
    assignees: tuple[AssigneeTally, ...]
    """Most tasks first, at most `MOST_ASSIGNEES`."""


class RelationCountReads(Store):
    def relation_counts(
        self, organization_id: str, visibility: frozenset[str], *, at: datetime | None = None
    ) -> dict[str, int]:
        """Count visible relations by name at a time (None: now)."""
        values = {
            "organization": organization_id,
            "visibility": sorted(visibility),
            "at": to_micros(self._clock() if at is None else at),
        }
        statement = _relation_counts if at is None else _relation_counts_then
        return {row[0]: row[1] for row in self._all(statement, values)}


class TaskCountReads(Store):
    def task_tally(self, organization_id: str, project_id: str, visibility: frozenset[str]) -> TaskTally:
        """Count the tasks of a project, in one snapshot."""
        values = {"organization": organization_id, "project": project_id, "visibility": sorted(visibility)}
        by_status: dict[str, int] = {}
        by_priority: dict[str, int] = {}
        found: dict[str, dict[str, int]] = {}
        shown_by: dict[str, str] = {}
        with self._database.snapshot() as connection:
            for status, priority, count in connection.execute(_task_counts, values):
                by_status[status] = by_status.get(status, 0) + count
                by_priority[priority] = by_priority.get(priority, 0) + count
            for label, status, count, entity_id in connection.execute(_assigned, values):
                found.setdefault(label, {})[status] = count
                shown_by[label] = min(entity_id, shown_by.get(label, entity_id))
            labels = sorted(found, key=lambda label: (-sum(found[label].values()), label))[:MOST_ASSIGNEES]
            ids = sorted({shown_by[label] for label in labels})
            rows = connection.execute(_by_ids, {"organization": organization_id, "ids": ids}).all() if ids else []
        entities = {entity.id: entity for entity in sound(rows, to_entity)}
        assignees = (AssigneeTally(_spelt(label, entities.get(shown_by[label])), found[label]) for label in labels)
        return TaskTally(by_status, by_priority, tuple(assignees))


def _spelt(label: str, entity: Entity | None) -> str:
    names = entity.metadata.get("assignees") if entity is not None else None
    texts = (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return next((name for name in texts if key_of(name) == label), label)


TASK = "task"

_revisions = schema.entities
_past = schema.entity_revisions
_ids = select(_revisions.c.id).where(
    _revisions.c.organization_id == bindparam("organization"), _revisions.c.type_key == TASK
)
_current = select(
    *(_revisions.c[name] for name in ("id", "project_id", "visibility", "created_at")),
    *(_revisions.c[name] for name in ("revision", "status_key", "updated_at")),
).where(
    _revisions.c.organization_id == bindparam("organization"),
    _revisions.c.id.in_(bindparam("ids", expanding=True)),
    _revisions.c.type_key == TASK,
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
