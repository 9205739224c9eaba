"""Tasks, their epics, dependencies and notes."""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import BindParameter, Column, Select, bindparam, select

from stores.ledger import schema
from stores.ledger.columns import among, beside, here
from stores.ledger.encoding import dump_json, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.record_table import equal_to, sound
from stores.ledger.relations import present
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Store
from stores.ledger.writing import Writes
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
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)


def _kept_beside(name: str, kind: str) -> Select[Any]:
    return (
        select(*entity_columns(_entities))
        .join(_relations, beside(_relations.c.source_id, _entities.c.id))
        .where(
            here(_relations),
            _relations.c.target_id == bindparam("subject"),
            _relations.c.name == name,
            _relations.c.provenance == dump_json(BESIDE),
            present(),
            _entities.c.type_key == kind,
        )
        .order_by(_entities.c.created_at.desc(), _entities.c.id.desc())
        .distinct()
    )


_notes = _kept_beside(ABOUT, "note")
_learnings = _kept_beside(DERIVED_FROM, "episode")
_readable_notes = _notes.where(_relations.c.visibility.in_(_visible), _entities.c.visibility.in_(_visible)).limit(
    bindparam("limit")
)


def _between(task: Column[Any], first: Column[Any], names: Collection[str]) -> Select[Any]:
    return select(task, first).where(
        here(_relations),
        among(task),
        _relations.c.name.in_(sorted(names)),
        _relations.c.visibility.in_(_visible),
        present(),
    )


_dependencies = (
    _between(_relations.c.source_id, _relations.c.target_id, DEPENDS),
    _between(_relations.c.target_id, _relations.c.source_id, PRECEDES),
)


class WorkReads(Store):
    def dependencies(
        self, organization_id: str, task_ids: Iterable[str], *, visibility: frozenset[str]
    ) -> dict[str, list[str]]:
        """Return the present dependencies of tasks by visible facts; targets may be hidden."""
        found: dict[str, list[str]] = {}
        values = {"organization": organization_id, "visibility": sorted(visibility), "at": to_micros(self._clock())}
        for ids in in_chunks(task_ids):
            for statement in _dependencies:
                for task_id, first_id in self._all(statement, values | {"ids": ids}):
                    found.setdefault(task_id, []).append(first_id)
        return found

    def notes_about(
        self, organization_id: str, subject_id: str, *, visibility: frozenset[str], limit: int
    ) -> list[Entity]:
        """Return the visible notes on a record, latest first."""
        values = {"organization": organization_id, "subject": subject_id, "at": to_micros(self._clock())}
        rows = self._all(_readable_notes, values | {"visibility": sorted(visibility), "limit": limit})
        return sound(rows, to_entity)


class WorkflowReads(Writes):
    def statuses_in_epic(self, epic_id: str, visibility: Collection[str]) -> set[str]:
        """Return the statuses of the visible tasks of an epic."""
        tasks = equal_to(_entities, organization_id=self.organization_id, epic_id=epic_id, type_key="task")
        statement = select(_entities.c.status_key).where(*tasks, _entities.c.visibility.in_(sorted(visibility)))
        return set(self._connection.execute(statement.distinct()).scalars())

    def notes_about(self, subject_id: str) -> list[Entity]:
        """Return every note about a record, latest first."""
        values = self._here | {"subject": subject_id, "at": to_micros(self.now)}
        return [to_entity(row) for row in self._run(_notes, values)]

    def learned_on(self, subject_id: str) -> list[Entity]:
        """Return every learned episode of a task or epic, latest first."""
        values = self._here | {"subject": subject_id, "at": to_micros(self.now)}
        return [to_entity(row) for row in self._run(_learnings, values)]
