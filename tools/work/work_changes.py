"""Changes of tasks and epics: one transaction each, with its checks and side effects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from auth.policy import may_reach, may_read, require_work
from auth.principal import Principal
from stores.clock import new_id
from stores.errors import EngrainError, NotFound
from stores.ledger import BESIDE, DERIVED_FROM, RelationDraft, Transaction, between
from stores.records import Entity, EntityDraft, JsonObject, ProjectRole
from tools.app import App
from tools.entities.change import UpdateEntityRequest, revise
from tools.frame.json_values import without_none
from tools.frame.operation import Call, Request, Result, Route
from tools.records.containment import contain
from tools.records.entity_models import CONTENT_LIMIT, NAME_LIMIT, EntityId, MutationReceipt
from tools.records.receipts import receipt

Kind = Literal["task", "epic"]
Priority = Literal["critical", "high", "medium", "low", "someday"]
Ids = Annotated[list[EntityId], Field(max_length=100)]
Said = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT_LIMIT, pattern=r"\S")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=5000, pattern=r"\S")]
Revision = Annotated[int, Field(ge=1)]
Plan = Callable[[Entity], dict[str, Any]]
Beside = Callable[[Transaction, Principal, Entity, Entity], list[Entity]]

IF_MATCH = {"if-match": "expected_revision"}
REFUSALS = frozenset({400, 404, 409})
MOST_HOURS = 1_000_000
REVISION = "Refuse with 409 unless this is the revision now."


class OnTask(Request):
    """A deed on one task."""

    task_id: EntityId = Field(description="The task's id.")
    expected_revision: Revision | None = Field(None, description=REVISION)


class OnEpic(Request):
    """A deed on one epic."""

    epic_id: EntityId = Field(description="The epic's id.")
    expected_revision: Revision | None = Field(None, description=REVISION)


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


@dataclass(frozen=True, slots=True)
class WorkChange:
    action: str
    message: str
    request: OnTask | OnEpic
    plan: Plan
    shown: Sequence[str] = ()
    """Fields of its metadata that the answer tells."""
    beside: Beside | None = None
    least: ProjectRole = "project_contributor"


@dataclass(frozen=True, slots=True)
class Done:
    """The changed entity, its side effects, and the feed position."""

    entity: Entity
    followed: list[Entity]
    sequence: int


def apply_change(app: App, call: Call, deed: WorkChange) -> Done:
    """Apply a change in one transaction. Blocks."""
    request, caller = deed.request, call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        if isinstance(request, OnTask):
            found = present(tx, caller, "task", request.task_id)
        else:
            found = present(tx, caller, "epic", request.epic_id)
        require_work(caller, found, deed.least)
        change = UpdateEntityRequest(
            entity_id=found.id, expected_revision=request.expected_revision, **deed.plan(found)
        )
        entity, *followed = revise(call, tx, change, action=deed.action)
        followed += deed.beside(tx, caller, found, entity) if deed.beside else []
    return Done(entity, followed, tx.sequence)


def change_task(app: App, call: Call, deed: WorkChange, **data: Any) -> TaskDone:
    done = apply_change(app, call, deed)
    return task_done(app, call, deed.action, deed.message, done, **_told(deed, done), **data)


def change_epic(app: App, call: Call, deed: WorkChange, **data: Any) -> EpicDone:
    done = apply_change(app, call, deed)
    answer = _answer(app, call, done, {**_told(deed, done), **data})
    return EpicDone(action=deed.action, message=deed.message, epic_id=done.entity.id, **answer)


def _told(deed: WorkChange, done: Done) -> JsonObject:
    found: JsonObject = {key: done.entity.metadata.get(key) for key in deed.shown}
    episode = next((entity.id for entity in done.followed if entity.entity_type == "episode"), None)
    return found if episode is None else {**found, "episode_id": episode}


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


def present(tx: Transaction, caller: Principal, kind: Kind, entity_id: str) -> Entity:
    entity = tx.records.entity(entity_id)
    if entity is None or entity.entity_type != kind or not may_reach(caller, entity):
        raise no_such(kind, entity_id)
    return entity


def no_such(kind: str, entity_id: str) -> NotFound:
    return NotFound(f"There is no {kind} {entity_id}.", remediation="Check the id: `explore` with `types` lists them.")


def task_done(app: App, call: Call, action: str, message: str, done: Done, **data: Any) -> TaskDone:
    return TaskDone(action=action, message=message, task_id=done.entity.id, **_answer(app, call, done, data))


def _answer(app: App, call: Call, done: Done, data: JsonObject) -> dict[str, Any]:
    given: JsonObject = without_none(data)
    shown = {"status": done.entity.metadata.get("status"), "revision": done.entity.revision, **given}
    return {"data": shown, "mutation_receipt": receipt(app, call, [done.entity], done.followed)}


def nonblank(learnings: str | None) -> str | None:
    return learnings if learnings and learnings.strip() else None


def learn(tx: Transaction, caller: Principal, before: Entity, subject: Entity) -> list[Entity]:
    """Store learnings as an episode derived from a task or epic, unless its readers have it."""
    text = subject.metadata.get("learnings")
    if not isinstance(text, str) or not text.strip():
        return []
    if any((each.content, each.visibility) == (text, subject.visibility) for each in tx.records.learned_on(subject.id)):
        return []
    draft = EntityDraft(
        id=new_id("episode"),
        entity_type="episode",
        name=f"Learnings: {subject.name}"[:NAME_LIMIT],
        content=text,
        category="learnings",
        languages=subject.languages,
        metadata={**of_project(subject), f"{subject.entity_type}_id": subject.id},
        **subject.place,
    )
    return [store_beside(tx, caller, draft, DERIVED_FROM, subject, fields={})]


def store_beside(
    tx: Transaction, caller: Principal, draft: EntityDraft, name: str, subject: Entity, *, fields: JsonObject
) -> Entity:
    """Store a note or episode with its relation to a task or epic.

    Records of a deleted project can be added to its remaining tasks.
    """
    entity = tx.records.create_entity(draft, fields={"mode": "async", **fields})
    relate(tx, entity, name, subject)
    if entity.project_id is not None and tx.records.entity(entity.project_id) is not None:
        contain(tx, caller, None, entity)
    return entity


def of_project(subject: Entity) -> JsonObject:
    return {} if subject.project_id is None else {"project_id": subject.project_id}


def cite(tx: Transaction, caller: Principal, subject: Entity, ids: list[str]) -> None:
    for cited in dict.fromkeys(ids):
        record = tx.records.entity(cited)
        if record is None or not may_read(caller, record.visibility):
            raise NotFound(
                f"cited_ids names {cited}, which does not exist.",
                remediation="Cite ids that a search or list returned, or leave them out.",
                details={"field": "body.cited_ids"},
            )
        if cited != subject.id:
            relate(tx, subject, "REFERENCES", record)


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


def task_route(deed: str) -> Route:
    return Route("POST", f"/api/tasks/{{task_id}}/{deed}", tag="tasks", headers=IF_MATCH, errors=REFUSALS)


def epic_route(deed: str) -> Route:
    return Route("POST", f"/api/epics/{{epic_id}}/{deed}", tag="epics", headers=IF_MATCH, errors=REFUSALS)
