"""Answers of writes for agents: who reads what was written, and when searches find it."""

from pydantic import BaseModel

from auth.principal import Principal
from stores.records import JsonObject
from tools.app import App
from tools.records.entity_models import MutationReceipt
from tools.records.readers import readable_by
from tools.records.storing import until_visible
from tools.runtime.threads import in_thread


async def after_write(app: App, caller: Principal, result: BaseModel | None) -> JsonObject:
    """Return the readers of a write and the indexes that do not show it yet, as far as its answer does not tell them.

    It waits as `until_visible` does, unless the operation has waited or deferred the work, as `background_jobs` says.
    """
    receipt = getattr(result, "mutation_receipt", None)
    if not isinstance(receipt, MutationReceipt):
        return {}
    organization = caller.organization_id
    told: JsonObject = {}

    def written() -> dict[str, str]:
        ids = [each.partition(":")[2] for each in receipt.affected_records]
        found = app.ledger.records.entities(organization, ids)
        return {id_: readable_by(app, caller, found[id_].visibility) for id_ in ids if id_ in found}

    readers = await in_thread(written)
    if readers:
        told["readable_by"] = next(iter(readers.values()))
    if getattr(result, "background_jobs", None) is None:
        head = await in_thread(app.ledger.feed.head, organization)
        if pending := (await until_visible(app, caller, head.sequence, list(readers))).pending_indexes:
            told["pending_indexes"] = [*pending]
    return told
