"""Receipts of writes."""

from collections.abc import Sequence

from stores.records import Entity
from tools.app import App
from tools.entity_models import MutationReceipt
from tools.operation import Call


def receipt(app: App, call: Call, entities: Sequence[Entity], followed: Sequence[Entity] = ()) -> MutationReceipt:
    """Say which records a write changed, and which others followed."""
    return MutationReceipt(
        operation_id=app.new_id("operation"),
        revision=entities[0].revision if len(entities) == 1 else None,
        affected_records=[f"entity:{entity.id}" for entity in (*entities, *followed)],
        idempotency_key=call.idempotency_key,
    )
