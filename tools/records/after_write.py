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
    """Wait until every healthy index shows a write, as `until_visible` does; return its readers and what is pending."""
    receipt = getattr(getattr(result, "entity", result), "mutation_receipt", None)
    receipt = getattr(result, "mutation_receipt", receipt)
    if not isinstance(receipt, MutationReceipt):
        return {}
    organization = caller.organization_id

    def written() -> dict[str, str]:
        ids = [each.partition(":")[2] for each in receipt.affected_records]
        found = app.ledger.records.entities(organization, ids)
        return {id_: readable_by(app, caller, found[id_].visibility) for id_ in ids if id_ in found}

    readers = await in_thread(written)
    head = await in_thread(app.ledger.feed.head, organization)
    pending = (await until_visible(app, caller, head.sequence, list(readers))).pending_indexes
    told: JsonObject = {"readable_by": next(iter(readers.values()), None), "pending_indexes": [*pending]}
    return {name: value for name, value in told.items() if value}
