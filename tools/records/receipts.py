"""Mutation receipts."""

from collections.abc import Iterable, Sequence

from stores.records import Entity
from tools.app import App
from tools.frame.operation import Call
from tools.records.entity_models import MutationReceipt


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
