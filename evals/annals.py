"""Stores records of many days through the public surface: each says on which day it was captured, as any client may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.client import Client
from tools.entity_models import BULK_LIMIT, EntityFields


@dataclass(slots=True)
class Annals:
    """The records that are kept so far."""

    today: datetime = field(default_factory=lambda: datetime.now(UTC))
    ids: dict[str, str] = field(default_factory=dict)
    """By what the labels call them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Of every record, as that of the place where they lie."""

    def keep(self, client: Client, days_ago: float, records: Sequence[tuple[str, EntityFields]]) -> None:
        """Store records of one day for whoever the client is, and remember their ids by their keys.

        In `related_to` the keys of records of earlier calls stand for their ids: `references:<key>`.

        Raises:
            EngrainError: The server refuses one.
        """
        said = (self.today - timedelta(days=days_ago)).isoformat()
        for first in range(0, len(records), BULK_LIMIT):
            batch = records[first : first + BULK_LIMIT]
            made = client.post("/api/entities/bulk", {"entities": [self._body(fields, said) for _, fields in batch]})
            self.ids |= {key: str(each["id"]) for (key, _), each in zip(batch, made["entities"], strict=True)}

    def _body(self, fields: EntityFields, said: str) -> Mapping[str, Any]:
        links = (link.partition(":") for link in fields.related_to or ())
        body = fields.model_dump(mode="json", exclude_unset=True)
        body["metadata"] = {**(fields.metadata or {}), **self.metadata, "captured_at": said}
        return {**body, "related_to": [f"{name}:{self.ids[key]}" for name, _, key in links]}
