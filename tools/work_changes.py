"""What every deed on a task or an epic shares: it is found, checked, changed and answered for in one transaction."""

from collections.abc import Callable, Iterator
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
from tools.change import UpdateEntityRequest, revise
from tools.containment import contain
from tools.entity_models import CONTENT_LIMIT, NAME_LIMIT, EntityId, MutationReceipt
from tools.operation import Call, Request, Result, Route
from tools.receipts import receipt
from tools.threads import in_thread

Kind = Literal["task", "epic"]
Priority = Literal["critical", "high", "medium", "low", "someday"]
Ids = Annotated[list[EntityId], Field(max_length=100)]
Said = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT_LIMIT, pattern=r"\S")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=5000, pattern=r"\S")]
Revision = Annotated[int, Field(ge=1)]

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


class TaskDone(Result):
    """What became of a task."""

    success: bool = True
    action: str
    task_id: str
    message: str
    data: JsonObject
    mutation_receipt: MutationReceipt


class EpicDone(Result):
    """What became of an epic."""

    success: bool = True
    action: str
    epic_id: str
    message: str
    data: JsonObject
    mutation_receipt: MutationReceipt


def nothing(tx: Transaction, caller: Principal, before: Entity, after: Entity) -> list[Entity]:
    """Store nothing beside the deed itself."""
    return []


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that is done to one task or epic."""

    action: str
    """What events and answers call it."""
    kind: Kind
    entity_id: str
    expected_revision: int | None
    plan: Callable[[Entity], dict[str, Any]]
    """Tells from the entity as it is which fields of an `UpdateEntityRequest` to change."""
    beside: Callable[[Transaction, Principal, Entity, Entity], list[Entity]] = nothing
    """Stores what else belongs to the deed, given the caller and the entity before and after; returns it."""
    least: ProjectRole = "project_contributor"


@dataclass(frozen=True, slots=True)
class Done:
    """What a deed changed: the entity itself, whatever came of it, and the place in the feed."""

    entity: Entity
    followed: list[Entity]
    sequence: int


async def carry_out(app: App, call: Call, deed: Deed) -> Done:
    """Do it in one transaction.

    Raises:
        NotFound: There is no such task or epic for this caller.
        Forbidden: The caller's role in its project is not enough.
        Conflict: It is not at the expected revision.
        InvalidRequest: The move is none that there is, or nothing would change.
    """

    def write() -> Done:
        caller = call.caller
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            found = present(tx, caller, deed.kind, deed.entity_id)
            require_work(caller, found, deed.least)
            change = UpdateEntityRequest(
                entity_id=found.id, expected_revision=deed.expected_revision, **deed.plan(found)
            )
            entity, *followed = revise(call, tx, change, action=deed.action)
            followed += deed.beside(tx, caller, found, entity)
        return Done(entity, followed, tx.sequence)

    return await in_thread(write)


@contextmanager
def in_words_of(request: Request) -> Iterator[None]:
    """Let an error name a field as the client sent it, where it names the metadata that the field becomes."""
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
    """Read the task or epic that a deed is about.

    Raises:
        NotFound: There is none with this id for the caller, or its project is out of the caller's sight.
    """
    entity = tx.entity(entity_id)
    if entity is None or entity.entity_type != kind or not may_reach(caller, entity):
        raise no_such(kind, entity_id)
    return entity


def no_such(kind: str, entity_id: str) -> NotFound:
    """Say that there is no such task or epic, or none for the caller: the words are the same."""
    return NotFound(f"There is no {kind} {entity_id}.", remediation="Check the id: `explore` with `types` lists them.")


def task_done(app: App, call: Call, action: str, message: str, done: Done, **data: Any) -> TaskDone:
    """Answer for a deed on a task; `data` goes beside its status and revision."""
    return TaskDone(
        action=action,
        task_id=done.entity.id,
        message=message,
        data=shown(done, data),
        mutation_receipt=receipt(app, call, [done.entity], done.followed),
    )


def epic_done(app: App, call: Call, action: str, message: str, done: Done, **data: Any) -> EpicDone:
    """Answer for a deed on an epic."""
    return EpicDone(
        action=action,
        epic_id=done.entity.id,
        message=message,
        data=shown(done, data),
        mutation_receipt=receipt(app, call, [done.entity], done.followed),
    )


def shown(done: Done, data: JsonObject) -> JsonObject:
    """Put a deed's own data beside the status and the revision of what it was done to; null is left out."""
    given = {key: value for key, value in data.items() if value is not None}
    return {"status": done.entity.metadata.get("status"), "revision": done.entity.revision, **given}


def told(learnings: str | None) -> str | None:
    """What somebody learned; None where nothing is said."""
    return learnings if learnings and learnings.strip() else None


def learn(tx: Transaction, caller: Principal, before: Entity, subject: Entity) -> list[Entity]:
    """Store what was learned on a task or epic as an episode that its readers can read, derived from it.

    The same words are not stored twice for the same readers.
    """
    text = subject.metadata.get("learnings")
    if not isinstance(text, str) or not text.strip():
        return []
    if any((each.content, each.visibility) == (text, subject.visibility) for each in tx.learned_on(subject.id)):
        return []
    draft = EntityDraft(
        id=new_id("episode"),
        entity_type="episode",
        name=f"Learnings: {subject.name}"[:NAME_LIMIT],
        content=text,
        category="learnings",
        languages=subject.languages,
        metadata={**of_project(subject), f"{subject.entity_type}_id": subject.id},
        visibility=subject.visibility,
        memory_scope=subject.memory_scope,
        scope_key=subject.scope_key,
        project_id=subject.project_id,
    )
    return [keep_beside(tx, caller, draft, DERIVED_FROM, subject, fields={})]


def keep_beside(
    tx: Transaction, caller: Principal, draft: EntityDraft, name: str, subject: Entity, *, fields: JsonObject
) -> Entity:
    """Store what belongs to a task or epic, with the relation to it; `fields` go into the change feed.

    A project that was deleted takes nothing new, except what belongs to the tasks that it left.
    """
    entity = tx.create_entity(draft, fields={"mode": "async", **fields})
    relate(tx, entity, name, subject)
    if entity.project_id is not None and tx.entity(entity.project_id) is not None:
        contain(tx, caller, None, entity)
    return entity


def episode_of(done: Done) -> str | None:
    """The id of the episode that a deed stored; None where there is none."""
    return next((entity.id for entity in done.followed if entity.entity_type == "episode"), None)


def of_project(subject: Entity) -> JsonObject:
    """The metadata of what belongs where a task or epic belongs."""
    return {} if subject.project_id is None else {"project_id": subject.project_id}


def cite(tx: Transaction, caller: Principal, subject: Entity, ids: list[str]) -> None:
    """Let a task refer to the records that helped with it.

    Raises:
        NotFound: One of them does not exist for the caller.
    """
    for cited in dict.fromkeys(ids):
        record = tx.entity(cited)
        if record is None or not may_read(caller, record.visibility):
            raise NotFound(
                f"cited_ids names {cited}, which does not exist.",
                remediation="Cite ids that a search or list returned, or leave them out.",
                details={"field": "body.cited_ids"},
            )
        if cited != subject.id:
            relate(tx, subject, "REFERENCES", record)


def relate(tx: Transaction, source: Entity, name: str, target: Entity) -> None:
    """Store a relation that whoever may read both ends may read."""
    tx.add_relation(
        RelationDraft(
            name=name,
            source_id=source.id,
            target_id=target.id,
            visibility=between(source.visibility, target.visibility),
            provenance=BESIDE,
        )
    )


def task_route(deed: str) -> Route:
    """Say where a deed on a task stands: POST /api/tasks/{task_id}/<deed>."""
    return Route("POST", f"/api/tasks/{{task_id}}/{deed}", tag="tasks", headers=IF_MATCH, errors=REFUSALS)


def epic_route(deed: str) -> Route:
    """Say where a deed on an epic stands: POST /api/epics/{epic_id}/<deed>."""
    return Route("POST", f"/api/epics/{{epic_id}}/{deed}", tag="epics", headers=IF_MATCH, errors=REFUSALS)
