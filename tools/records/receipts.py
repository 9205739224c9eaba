"""Answers of writes: receipts, readers of the written record, and the time until searches find it. Authors by name."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from auth.principal import Principal
from auth.visibility import entity_key
from stores.records import RAW_MEMORY, Entity, JsonObject
from tools.app import App
from tools.frame.operation import Call
from tools.frame.threads import in_thread
from tools.records.entity_models import MutationReceipt
from tools.records.storing import until_visible
from tools.text.plain import one_line


def receipt_for(app: App, call: Call, records: Iterable[str], revision: int | None = None) -> MutationReceipt:
    """Make the receipt of a write that affected records, given as `kind:id`."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        revision=revision,
        affected_records=[*records],
        idempotency_key=call.idempotency_key,
    )


def capture_receipt(app: App, call: Call, memory_ids: Sequence[str], entity_ids: Sequence[str] = ()) -> MutationReceipt:
    return receipt_for(
        app, call, [*(f"raw_captures:{each}" for each in memory_ids), *(f"entity:{each}" for each in entity_ids)]
    )


def receipt(app: App, call: Call, entities: Sequence[Entity], followed: Sequence[Entity] = ()) -> MutationReceipt:
    """Make the receipt of changed entities and of others that followed; one entity tells its revision."""
    revision = entities[0].revision if len(entities) == 1 else None
    return receipt_for(app, call, [f"entity:{entity.id}" for entity in (*entities, *followed)], revision)


REMEMBER = "; to share its words, remember them (or reflect on them) with another memory_scope"
CHANGE = '; to change that, update it with metadata.memory_scope "private", "organization", or "project" and project_id'
FOLLOWING = "; a fact is read by whoever reads both its records"


def authors(app: App, entities: Iterable[Entity]) -> dict[str, str | None]:
    """Return the name of the author of each record, of a raw memory its speaker, by record id. Blocks."""
    known = list(entities)
    names = app.ledger.people.names(each.principal_id for each in known if each.principal_id)
    speakers = {each.id: each.metadata.get("speaker") for each in known if each.entity_type == RAW_MEMORY}
    return {
        each.id: speaker if isinstance(speaker := speakers.get(each.id), str) else names.get(each.principal_id or "")
        for each in known
    }


def readable_by(app: App, caller: Principal, visibility: str) -> str:
    """Name those who can read what the caller has written with this visibility, and how to change that. Blocks."""
    kept_as = entity_key(visibility)
    readers = _readers(app, caller, kept_as)
    return readers + (CHANGE if kept_as == visibility else REMEMBER if kept_as.startswith("private") else "")


def _readers(app: App, caller: Principal, kept_as: str) -> str:
    kind, _, key = kept_as.partition(":")
    everybody = f"everybody in organization {caller.organization.name}"
    if kind == "private":
        return "private: only you" if key == caller.user_id else "private: only its author"
    if kind in ("project", "members"):
        project = app.ledger.records.entity(caller.organization_id, key)
        name = key if project is None else f"{one_line(project.name)} ({key})"
        if kind == "project" and project is not None and project.metadata.get("visibility") != "private":
            return f"{everybody}, as the project {name}"
        return f"members of project {name}"
    if kind == "team":
        team = app.ledger.teams.team(caller.organization_id, key)
        return f"members of team {key if team is None else one_line(team.name)}"
    return f"who may read the memory space {key}" if key else everybody


async def after_write(app: App, caller: Principal, result: BaseModel | None) -> JsonObject:
    """Return the readers of a write and the indexes that do not show it yet, as far as its answer does not tell them.

    It waits as `until_visible` does, unless the operation has waited or deferred the work, as `background_jobs` says.
    """
    receipt = getattr(result, "mutation_receipt", None)
    if not isinstance(receipt, MutationReceipt):
        return {}
    organization = caller.organization_id

    def written() -> tuple[list[str], str | None]:
        ids = [each.partition(":")[2] for each in receipt.affected_records]
        found = app.ledger.records.entities(organization, ids)
        fact = None if found else next(iter(app.ledger.relations.by_ids(organization, ids).values()), None)
        if fact is not None:
            return [], _readers(app, caller, fact.visibility) + FOLLOWING
        first = next((found[each] for each in ids if each in found), None)
        return [*found], None if first is None else readable_by(app, caller, first.visibility)

    ids, readers = await in_thread(written)
    told: JsonObject = {"readable_by": readers} if readers else {}
    if getattr(result, "background_jobs", None) is None:
        head = await in_thread(app.ledger.feed.head, organization)
        if pending := (await until_visible(app, caller, head.sequence, ids)).pending_indexes:
            told["pending_indexes"] = [*pending]
    return told
