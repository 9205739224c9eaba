"""Mutation receipts."""

from collections.abc import Sequence

from stores.records import Entity
from tools.app import App
from tools.entity_models import MutationReceipt
from tools.operation import Call


def capture_receipt(app: App, call: Call, memory_ids: Sequence[str], entity_ids: Sequence[str] = ()) -> MutationReceipt:
    """Make the receipt of a write of raw memories, with the entities that it wrote."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        affected_records=[*(f"raw_captures:{each}" for each in memory_ids), *(f"entity:{each}" for each in entity_ids)],
        idempotency_key=call.idempotency_key,
    )


def receipt(app: App, call: Call, entities: Sequence[Entity], followed: Sequence[Entity] = ()) -> MutationReceipt:
    """Make the receipt of a write of entities; `followed` changed with them."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        revision=entities[0].revision if len(entities) == 1 else None,
        affected_records=[f"entity:{entity.id}" for entity in (*entities, *followed)],
        idempotency_key=call.idempotency_key,
    )
