"""Store records of many days over REST, each with its `captured_at`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.client import Client
from tools.records.entity_models import BULK_LIMIT, EntityFields


@dataclass(slots=True)
class DatedRecords:
    today: datetime = field(default_factory=lambda: datetime.now(UTC))
    ids: dict[str, str] = field(default_factory=dict)
    """Record ids by key of the set."""

    def store(self, client: Client, days_ago: float, records: Sequence[tuple[str, EntityFields]]) -> None:
        """Store records of one day with their keys; `related_to` names earlier keys."""
        captured_at = (self.today - timedelta(days=days_ago)).isoformat()
        for first in range(0, len(records), BULK_LIMIT):
            batch = records[first : first + BULK_LIMIT]
            bodies = [self._body(fields, captured_at) for _, fields in batch]
            made = client.post("/api/entities/bulk", {"entities": bodies})
            self.ids |= {key: str(each["id"]) for (key, _), each in zip(batch, made["entities"], strict=True)}

    def _body(self, fields: EntityFields, captured_at: str) -> Mapping[str, Any]:
        links = (link.partition(":") for link in fields.related_to or ())
        body = fields.model_dump(mode="json", exclude_unset=True)
        body["metadata"] = {**(fields.metadata or {}), "captured_at": captured_at}
        return {**body, "related_to": [f"{name}:{self.ids[key]}" for name, _, key in links]}
