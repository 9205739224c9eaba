"""Counts of visible tasks and relations."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, BindParameter, Connection, and_, bindparam, func, select

from stores.ledger import schema
from stores.ledger.columns import among, beside, here
from stores.ledger.encoding import from_micros, key_of, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.record_table import sound
from stores.ledger.relations import present
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Cells, Store
from stores.records import Entity

MOST_ASSIGNEES = 200

_table = schema.entities
_past = schema.entity_revisions
_labels = schema.entity_labels
_relations = schema.relations
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)


_hidden = select(_table.c.id).where(here(_table), ~_table.c.visibility.in_(_visible))
# Hidden ids are read once from an index: looking up both ends of each relation takes twenty times as long.
_relation_counts = (
    select(_relations.c.name, func.count())
    .where(
        here(_relations),
        _relations.c.visibility.in_(_visible),
        _relations.c.source_id.not_in(_hidden),
        _relations.c.target_id.not_in(_hidden),
        present(),
    )
    .group_by(_relations.c.name)
    .order_by(_relations.c.name)
)
_tasks = and_(
    here(_table),
    _table.c.project_id == bindparam("project"),
    _table.c.type_key == "task",
    _table.c.visibility.in_(_visible),
)
_open_tasks = and_(_tasks, _table.c.status_key != "archived")
_changed_since = select(
    *(_table.c[name] for name in ("id", "revision", "status_key", "created_at", "updated_at"))
).where(_tasks, _table.c.updated_at >= bindparam("since", type_=BigInteger))
_earlier = (
    select(_past.c.id, _past.c.metadata, _past.c.valid_from)
    .where(here(_past), among(_past.c.id))
    .order_by(_past.c.id, _past.c.revision)
)
_task_counts = (
    select(_table.c.status_key, _table.c.priority_key, func.count())
    .where(_open_tasks)
    .group_by(_table.c.status_key, _table.c.priority_key)
)
_assigned = (
    select(_labels.c.label, _table.c.status_key, func.count(), func.min(_table.c.id))
    .join(_labels, beside(_labels.c.entity_id, _table.c.id))
    .where(_open_tasks, _labels.c.kind == "assignee")
    .group_by(_labels.c.label, _table.c.status_key)
)
_by_ids = select(*entity_columns(_table)).where(here(_table), among(_table.c.id))


@dataclass(frozen=True, slots=True)
class AssigneeTally:
    name: str
    by_status: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True)
class TaskTally:
    """Counts without archived tasks, and recent times with them."""

    by_status: Mapping[str, int]
    by_priority: Mapping[str, int]
    assignees: tuple[AssigneeTally, ...]
    """Most tasks first, at most `MOST_ASSIGNEES`."""
    created: tuple[datetime, ...]
    completed: tuple[datetime, ...]
    """Last move to `done` of each task that is done, or was archived as done."""


class RelationCountReads(Store):
    def relation_counts(self, organization_id: str, visibility: frozenset[str]) -> dict[str, int]:
        """Count visible relations that hold now, by name."""
        at = to_micros(self._clock())
        values = {"organization": organization_id, "visibility": sorted(visibility), "at": at}
        return {row[0]: row[1] for row in self._all(_relation_counts, values)}


class TaskCountReads(Store):
    def task_tally(
        self, organization_id: str, project_id: str, visibility: frozenset[str], *, since: datetime
    ) -> TaskTally:
        """Count the tasks of a project, and list its creations and completions since a time, in one snapshot."""
        values = {"organization": organization_id, "project": project_id, "visibility": sorted(visibility)}
        by_status, by_priority = Counter[str](), Counter[str]()
        found: dict[str, dict[str, int]] = {}
        shown_by: dict[str, str] = {}
        first = to_micros(since)
        with self._database.snapshot() as connection:
            for status, priority, count in connection.execute(_task_counts, values):
                by_status[status] += count
                by_priority[priority] += count
            for label, status, count, entity_id in connection.execute(_assigned, values):
                found.setdefault(label, {})[status] = count
                shown_by[label] = min(entity_id, shown_by.get(label, entity_id))
            labels = sorted(found, key=lambda label: (-sum(found[label].values()), label))[:MOST_ASSIGNEES]
            ids = sorted({shown_by[label] for label in labels})
            rows = connection.execute(_by_ids, {"organization": organization_id, "ids": ids}).all() if ids else []
            changed = connection.execute(_changed_since, values | {"since": first}).all()
            completed = list(_completions(connection, organization_id, changed))
        entities = {entity.id: entity for entity in sound(rows, to_entity)}
        return TaskTally(
            by_status,
            by_priority,
            tuple(AssigneeTally(_spelt(label, entities.get(shown_by[label])), found[label]) for label in labels),
            tuple(from_micros(row.created_at) for row in changed if row.created_at >= first),
            tuple(from_micros(at) for at in completed if at >= first),
        )


def _completions(connection: Connection, organization_id: str, tasks: Sequence[Cells]) -> Iterator[int]:
    over = [task for task in tasks if task.status_key in ("done", "archived")]
    moves: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for ids in in_chunks(task.id for task in over if task.revision > 1):
        for row in connection.execute(_earlier, {"organization": organization_id, "ids": ids}):
            moves[row.id].append((_status(row.metadata), row.valid_from))
    for task in over:
        completed, before = None, ""
        for status, at in (*moves[task.id], (task.status_key, task.updated_at)):
            if status not in (before, "archived"):
                completed = at if status == "done" else None
            before = status
        if completed is not None:
            yield completed


def _status(metadata: str) -> str:
    status = json.loads(metadata).get("status")
    return key_of(status) if isinstance(status, str) else ""


def _spelt(label: str, entity: Entity | None) -> str:
    names = entity.metadata.get("assignees") if entity is not None else None
    texts = (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return next((name for name in texts if key_of(name) == label), label)
