"""Receipts of writes."""

from collections.abc import Sequence

from stores.records import Entity
from tools.app import App
from tools.entity_models import MutationReceipt
from tools.operation import Call


def capture_receipt(app: App, call: Call, memory_ids: Sequence[str], entity_ids: Sequence[str] = ()) -> MutationReceipt:
    """Say which raw memories a write kept or changed, and which entities."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        affected_records=[*(f"raw_captures:{each}" for each in memory_ids), *(f"entity:{each}" for each in entity_ids)],
        idempotency_key=call.idempotency_key,
    )


def receipt(app: App, call: Call, entities: Sequence[Entity], followed: Sequence[Entity] = ()) -> MutationReceipt:
    """Say which records a write changed, and which others followed."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        revision=entities[0].revision if len(entities) == 1 else None,
        affected_records=[f"entity:{entity.id}" for entity in (*entities, *followed)],
        idempotency_key=call.idempotency_key,
    )
