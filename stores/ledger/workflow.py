"""Tasks: their epics, dependencies, notes and counts."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Select, and_, bindparam, func, select

from stores.ledger import schema
from stores.ledger.columns import among, beside, here, json_list, sound, visible
from stores.ledger.encoding import dump_json, from_micros, key_of, to_micros
from stores.ledger.entities import ENTITIES, EntityReads, to_entity
from stores.ledger.relations import is_present
from stores.ledger.store import Cells, Writes
from stores.records import Entity, JsonObject

ABOUT = "ABOUT"
"""Relationship of a note to its subject."""
DERIVED_FROM = "DERIVED_FROM"
"""Relationship of a learning to its origin."""
DEPENDS = frozenset({"DEPENDS_ON", "REQUIRES"})
"""Relationships of a task to its prerequisites."""
PRECEDES = frozenset({"BLOCKS"})
"""Relationships of a prerequisite to its dependents."""
BESIDE: JsonObject = {"from": "work"}
"""Provenance of relations made by operations on tasks and epics."""

_entities = schema.entities
_relations = schema.relations


def _kept_beside(name: str, kind: str) -> Select[Any]:
    return (
        select(*ENTITIES.columns)
        .join(_relations, beside(_relations.c.source_id, _entities.c.id))
        .where(
            here(_relations),
            _relations.c.target_id == bindparam("subject"),
            _relations.c.name == name,
            _relations.c.provenance == dump_json(BESIDE),
            is_present,
            _entities.c.type_key == kind,
        )
        .order_by(_entities.c.created_at.desc(), _entities.c.id.desc())
        .distinct()
    )


_notes = _kept_beside(ABOUT, "note")
_learnings = _kept_beside(DERIVED_FROM, "episode")
_readable_notes = _notes.where(visible(_relations), visible(_entities)).limit(bindparam("limit"))


def _between(task: Column[Any], first: Column[Any], names: Collection[str]) -> Select[Any]:
    return select(task, first).where(
        here(_relations), among(task), _relations.c.name.in_(sorted(names)), visible(_relations), is_present
    )


_dependencies = (
    _between(_relations.c.source_id, _relations.c.target_id, DEPENDS),
    _between(_relations.c.target_id, _relations.c.source_id, PRECEDES),
)


class WorkflowReads(Writes):
    def statuses_in_epic(self, epic_id: str, visibility: Collection[str]) -> set[str]:
        tasks = ENTITIES.where(organization_id=self.organization_id, epic_id=epic_id, type_key="task")
        statement = select(_entities.c.status_key).where(*tasks, _entities.c.visibility.in_(sorted(visibility)))
        return set(self._connection.execute(statement.distinct()).scalars())

    def notes_about(self, subject_id: str) -> list[Entity]:
        values = self._here | {"subject": subject_id, "at": to_micros(self.now)}
        return [to_entity(row) for row in self._run(_notes, values)]

    def learned_on(self, subject_id: str) -> list[Entity]:
        """Return every learned episode of a task or epic, latest first."""
        values = self._here | {"subject": subject_id, "at": to_micros(self.now)}
        return [to_entity(row) for row in self._run(_learnings, values)]


MOST_ASSIGNEES = 200

_past = schema.entity_revisions
_labels = schema.entity_labels

_tasks = and_(
    here(_entities), _entities.c.project_id == bindparam("project"), _entities.c.type_key == "task", visible(_entities)
)
_open_tasks = and_(_tasks, _entities.c.status_key != "archived")
_changed_since = select(
    *(_entities.c[name] for name in ("id", "revision", "status_key", "created_at", "updated_at"))
).where(_tasks, _entities.c.updated_at >= bindparam("since", type_=BigInteger))
_earlier = (
    select(_past.c.id, _past.c.metadata, _past.c.valid_from)
    .where(here(_past), among(_past.c.id))
    .order_by(_past.c.id, _past.c.revision)
)
_task_counts = (
    select(_entities.c.status_key, _entities.c.priority_key, func.count())
    .where(_open_tasks)
    .group_by(_entities.c.status_key, _entities.c.priority_key)
)
_assigned = (
    select(_labels.c.label, _entities.c.status_key, func.count(), func.min(_entities.c.id))
    .join(_labels, beside(_labels.c.entity_id, _entities.c.id))
    .where(_open_tasks, _labels.c.kind == "assignee")
    .group_by(_labels.c.label, _entities.c.status_key)
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
    """Counts without archived tasks, and recent times with them."""

    by_status: Mapping[str, int]
    by_priority: Mapping[str, int]
    assignees: tuple[AssigneeTally, ...]
    """Most tasks first, at most `MOST_ASSIGNEES`."""
    created: tuple[datetime, ...]
    completed: tuple[datetime, ...]
    """Last move to `done` of each task that is done, or was archived as done."""


class WorkReads(EntityReads):
    def dependencies(
        self, organization_id: str, task_ids: Iterable[str], *, visibility: frozenset[str]
    ) -> dict[str, list[str]]:
        """Return the present dependencies of tasks by visible facts; targets may be hidden."""
        found: dict[str, list[str]] = {}
        values = {"organization": organization_id, "visibility": json_list(visibility), "at": to_micros(self._clock())}
        ids = json_list(task_ids)
        for statement in _dependencies:
            for task_id, first_id in self._all(statement, values | {"ids": ids}):
                found.setdefault(task_id, []).append(first_id)
        return found

    def notes_about(
        self, organization_id: str, subject_id: str, *, visibility: frozenset[str], limit: int
    ) -> list[Entity]:
        values = {"organization": organization_id, "subject": subject_id, "at": to_micros(self._clock())}
        rows = self._all(_readable_notes, values | {"visibility": json_list(visibility), "limit": limit})
        return sound(rows, to_entity)

    def task_tally(
        self, organization_id: str, project_id: str, visibility: frozenset[str], *, since: datetime
    ) -> TaskTally:
        """Count the tasks of a project, and list its creations and completions since a time, in one snapshot."""
        values = {"organization": organization_id, "project": project_id, "visibility": json_list(visibility)}
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
            changed = connection.execute(_changed_since, values | {"since": first}).all()
            completed = list(_completions(connection, organization_id, changed))
        labels = sorted(found, key=lambda label: (-sum(found[label].values()), label))[:MOST_ASSIGNEES]
        entities = self.entities(organization_id, (shown_by[label] for label in labels))
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
    ids = json_list(task.id for task in over if task.revision > 1)
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
