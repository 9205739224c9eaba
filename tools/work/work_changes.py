"""Changes of tasks and epics: one transaction each, with its checks and side effects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

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
from tools.frame.operation import IF_MATCH, Call, Operation, Request, Result, Route, Run, writing
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


class Done(NamedTuple):
    """The changed entity, its side effects, and the feed position."""

    entity: Entity
    followed: list[Entity]
    sequence: int


def apply_change(app: App, call: Call, deed: WorkChange) -> Done:
    """Apply a change in one transaction. Blocks."""
    request, caller = deed.request, call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        kind, entity_id = ("task", request.task_id) if isinstance(request, OnTask) else ("epic", request.epic_id)
        found = present(caller, tx.records.entity(entity_id), entity_id, kind)
        require_work(caller, found, deed.least)
        change = UpdateEntityRequest(
            entity_id=found.id, expected_revision=request.expected_revision, **deed.plan(found)
        )
        entity, *followed = revise(call, tx, change, action=deed.action)
        followed += deed.beside(tx, caller, found, entity) if deed.beside else []
    return Done(entity, followed, tx.sequence)


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


def change_work(kind: type[W], app: App, call: Call, deed: WorkChange, **data: JsonValue) -> W:
    done = apply_change(app, call, deed)
    shown = {key: done.entity.metadata.get(key) for key in deed.shown}
    episode = next((entity.id for entity in done.followed if entity.entity_type == "episode"), None)
    return kind(**answer(app, call, (deed.action, deed.message), done, **shown, episode_id=episode, **data))


def answer(app: App, call: Call, said: tuple[str, str], done: Done, **data: JsonValue) -> dict[str, Any]:
    """Return the fields of the answer to a change; `said` is its action and its message."""
    entity = done.entity
    return {
        "action": said[0],
        "message": said[1],
        f"{entity.entity_type}_id": entity.id,
        "data": {"status": entity.metadata.get("status"), "revision": entity.revision, **without_none(data)},
        "mutation_receipt": receipt(app, call, [entity], done.followed),
    }


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


def learn(tx: Transaction, caller: Principal, before: Entity, subject: Entity) -> list[Entity]:
    """Store learnings as an episode derived from a task or epic, unless its readers have it."""
    text = str(subject.metadata["learnings"])
    if any((each.content, each.visibility) == (text, subject.visibility) for each in tx.records.learned_on(subject.id)):
        return []
    name = f"Learnings: {subject.name}"[:NAME_LIMIT]
    place = subject.place | {"category": "learnings", "languages": subject.languages}
    draft = EntityDraft(new_id("episode"), "episode", name, content=text, **place)
    return [store_beside(tx, caller, draft, DERIVED_FROM, subject, fields={})]


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


def cite(tx: Transaction, caller: Principal, subject: Entity, ids: list[str]) -> None:
    for cited in dict.fromkeys(ids):
        record = tx.records.entity(cited)
        if record is None or not may_read(caller, record.visibility):
            raise NotFound(
                f"cited_ids names {cited}, which does not exist.",
                remediation="Cite ids that a search or list returned, or leave them out.",
                details={"field": "body.cited_ids"},
            )
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


def move(kind: Kind, verb: str, run: Run, *more_events: str) -> Operation:
    """Make the entry of a move of a task or epic: POST /api/tasks/{task_id}/start."""
    route = Route("POST", f"/api/{kind}s/{{{kind}_id}}/{verb}", tag=f"{kind}s", headers=IF_MATCH, errors=REFUSALS)
    return writing(run, route, "entity_updated", *more_events)
