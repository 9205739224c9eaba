"""Changes of tasks and epics: one transaction each, with its checks and side effects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, JsonValue, StringConstraints

from auth.policy import may_reach, may_read, require_work
from auth.principal import Principal
from stores.clock import new_id
from stores.errors import EngrainError, InvalidRequest, NotFound
from stores.ledger import BESIDE, DERIVED_FROM, RelationDraft, Transaction, between
from stores.records import Entity, EntityDraft, JsonObject, ProjectRole
from tools.app import App
from tools.entities.change import UpdateEntityRequest, revise
from tools.frame.json_values import without_none
from tools.frame.operation import IF_MATCH, Call, Request, Result, Route, Verb, writing
from tools.records.containment import contain
from tools.records.entity_models import CONTENT_LIMIT, NAME_LIMIT, EntityId, MutationReceipt
from tools.records.receipts import receipt

Kind = Literal["task", "epic"]
Priority = Literal["critical", "high", "medium", "low", "someday"]
Ids = Annotated[list[EntityId], Field(max_length=100)]
Said = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT_LIMIT, pattern=r"\S")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=5000, pattern=r"\S")]
Revision = Annotated[int, Field(ge=1)]

REFUSALS = frozenset({400, 404, 409})
MOST_HOURS = 1_000_000
CLEARABLE = frozenset({"epic_id", "parent_task_id", "feature"})
"""Fields of tasks that null clears."""
UNCHANGING = frozenset({"task_id", "epic_id", "expected_revision", "sync"})
"""Fields of a request that change nothing by themselves."""


class OnWork(Request):
    """A deed on a task or epic."""

    expected_revision: Revision | None = Field(None, description="Refuse with 409 unless this is the revision now.")


class OnTask(OnWork):
    """A deed on one task."""

    task_id: EntityId = Field(description="The task's id.")


class OnEpic(OnWork):
    """A deed on one epic."""

    epic_id: EntityId = Field(description="The epic's id.")


class WorkDone(Result):
    """Result of a change of a task or epic."""

    success: bool = True
    action: str
    message: str
    data: JsonObject
    mutation_receipt: MutationReceipt


class TaskDone(WorkDone):
    """Result of a change of a task."""

    task_id: str


class EpicDone(WorkDone):
    """Result of a change of an epic."""

    epic_id: str


W = TypeVar("W", TaskDone, EpicDone)


@dataclass(slots=True)
class WorkChange:
    """A change of a task or epic in an open transaction."""

    call: Call
    tx: Transaction
    action: str
    expected_revision: int | None
    entity: Entity
    followed: list[Entity] = field(default_factory=list)
    """Epics whose status follows, and the episode of lessons learned."""

    def listed(self, key: str) -> list[JsonValue]:
        value = self.entity.metadata.get(key)
        return value if isinstance(value, list) else []

    def apply(self, **fields: Any) -> None:
        request = UpdateEntityRequest(entity_id=self.entity.id, expected_revision=self.expected_revision, **fields)
        self.entity, *self.followed = revise(self.call, self.tx, request, action=self.action)

    def move(self, status: str, **metadata: JsonValue) -> None:
        self.apply(metadata=without_none({"status": status, **metadata}))

    def learn(self, text: str | None) -> None:
        """Store lessons learned as an episode derived from the task or epic, unless its readers have it."""
        subject = self.entity
        there = {(each.content, each.visibility) for each in self.tx.records.learned_on(subject.id)}
        if text is None or (text, subject.visibility) in there:
            return
        name = f"Learnings: {subject.name}"[:NAME_LIMIT]
        place = subject.place | {"category": "learnings", "languages": subject.languages}
        draft = EntityDraft(new_id("episode"), "episode", name, content=text, **place)
        self.followed.append(store_beside(self.tx, self.call.caller, draft, DERIVED_FROM, subject, fields={}))

    def cite(self, ids: Sequence[str]) -> None:
        for cited in dict.fromkeys(ids):
            record = self.tx.records.entity(cited)
            if record is None or not may_read(self.call.caller, record.visibility):
                raise NotFound(
                    f"cited_ids names {cited}, which does not exist.",
                    remediation="Cite ids that a search or list returned, or leave them out.",
                    details={"field": "body.cited_ids"},
                )
            relate(self.tx, self.entity, "REFERENCES", record)

    def done(self, kind: type[W], app: App, message: str, *shown: str, **data: JsonValue) -> W:
        """Answer the change with some fields of the metadata and more `data`."""
        entity = self.entity
        told = {key: entity.metadata.get(key) for key in shown}
        told["episode_id"] = next((each.id for each in self.followed if each.entity_type == "episode"), None)
        return kind(
            action=self.action,
            message=message,
            data={"status": entity.metadata.get("status"), "revision": entity.revision, **without_none(told | data)},
            mutation_receipt=receipt(app, self.call, [entity], self.followed),
            **{f"{entity.entity_type}_id": entity.id},
        )


@contextmanager
def changing(
    app: App, call: Call, request: OnTask | OnEpic, action: str, least: ProjectRole = "project_contributor"
) -> Iterator[WorkChange]:
    """Open a transaction that changes a task or epic, if the caller has `least` this role there. Blocks."""
    caller = call.caller
    kind, entity_id = ("task", request.task_id) if isinstance(request, OnTask) else ("epic", request.epic_id)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        found = present(caller, tx.records.entity(entity_id), entity_id, kind)
        require_work(caller, found, least)
        yield WorkChange(call, tx, action, request.expected_revision, found)


def changes_of(request: OnWork, in_metadata: Sequence[str], more: JsonObject | None = None) -> dict[str, Any]:
    """Return the changes that a request names, with `more` of the metadata.

    Raises:
        InvalidRequest: It names none.
    """
    sent = request.model_dump(exclude_unset=True)
    metadata = {
        name: sent[name] for name in in_metadata if sent.get(name) is not None or name in CLEARABLE & sent.keys()
    }
    metadata |= more or {}
    plain = {"name": sent.get("title"), "description": sent.get("description"), "tags": sent.get("tags")}
    changes = without_none({**plain, "metadata": metadata or None})
    if not changes:
        names = [name for name in type(request).model_fields if name not in UNCHANGING]
        raise InvalidRequest("Nothing to change.", remediation=f"Send at least one of {', '.join(names)}.")
    return changes


@contextmanager
def naming_fields_of(request: Request) -> Iterator[None]:
    """Rename `metadata` fields in errors to the request's own fields."""
    try:
        yield
    except EngrainError as error:
        key = str(error.details.get("field", "")).removeprefix("body.metadata.")
        for name in (key, f"add_{key}"):
            if name in type(request).model_fields:
                error.details["field"] = f"body.{name}"
                error.message = error.message.replace(f"metadata.{key}", name)
                error.args = (error.message,)
        raise


def present(caller: Principal, found: Entity | None, entity_id: str, *kinds: str) -> Entity:
    """Return a record that the caller may see; NotFound if it is of none of these kinds."""
    if found is None or found.entity_type not in kinds or not may_reach(caller, found):
        remediation = "Check the id: `explore` with `types` lists them."
        raise NotFound(f"There is no {' or '.join(kinds)} {entity_id}.", remediation=remediation)
    return found


def nonblank(learnings: str | None) -> str | None:
    return learnings if learnings and learnings.strip() else None


def store_beside(
    tx: Transaction, caller: Principal, draft: EntityDraft, name: str, subject: Entity, *, fields: JsonObject
) -> Entity:
    """Store a note or episode in the place of a task or epic, with its relation to it.

    Records of a deleted project can be added to its remaining tasks.
    """
    of_subject = without_none({"project_id": subject.project_id, f"{subject.entity_type}_id": subject.id})
    draft = replace(draft, metadata={**of_subject, **draft.metadata})
    entity = tx.records.create_entity(draft, fields={"mode": "async", **fields})
    relate(tx, entity, name, subject)
    if entity.project_id is not None and tx.records.entity(entity.project_id) is not None:
        contain(tx, caller, None, entity)
    return entity


def relate(tx: Transaction, source: Entity, name: str, target: Entity) -> None:
    """Store a relation that is visible to those who may read both ends."""
    tx.relations.add_relation(
        RelationDraft(
            name=name,
            source_id=source.id,
            target_id=target.id,
            visibility=between(source.visibility, target.visibility),
            provenance=BESIDE,
        )
    )


def move(kind: Kind, verb: str, *more_events: str) -> Callable[[Verb], Verb]:
    """Enter a move of a task or epic: POST /api/tasks/{task_id}/start."""
    route = Route("POST", f"/api/{kind}s/{{{kind}_id}}/{verb}", tag=f"{kind}s", headers=IF_MATCH, errors=REFUSALS)
    return writing(route, "entity_updated", *more_events)
