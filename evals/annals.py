"""Lays records down in a data folder, each on its day, before a server is started on it.

A client cannot say on which day a record was made, and ranking heeds how old things are. What is measured afterwards
goes through the server like everybody's requests.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from auth.principal import Principal
from stores.errors import EngrainError
from tools.app import App, open_app
from tools.entity_models import EntityFields
from tools.logs import LogRing
from tools.operation import Call
from tools.settings import Settings
from tools.storing import store

_LOADING_LIMIT_S = 300.0


@dataclass(slots=True)
class Calendar:
    """A clock that shows what it is set to."""

    now: datetime

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


@dataclass(frozen=True, slots=True)
class Annals:
    """An application whose present is any day that is wanted."""

    app: App
    calendar: Calendar
    today: datetime

    def turn_to(self, days_ago: float) -> None:
        """Make it so many days before now."""
        self.calendar.now = self.today - timedelta(days=days_ago)

    async def lay(self, caller: Principal, records: Sequence[tuple[str, EntityFields]], ids: dict[str, str]) -> None:
        """Store records of the present day in one write, and add their ids by their keys.

        In `related_to` the keys of earlier records stand for their ids: `references:<key>`.
        """
        drafts = [_related(fields, ids) for _, fields in records]
        made = await store(self.app, Call(caller), drafts, sync=False, deferred=False)
        ids.update((key, entity.id) for (key, _), entity in zip(records, made.entities, strict=True))

    async def until_whole(self, organization_id: str) -> None:
        """Wait until every index of an organization has all of it.

        Raises:
            EngrainError: They do not catch up within minutes.
        """
        ledger = self.app.ledger
        head, ids = ledger.head(organization_id).sequence, list(ledger.revisions(organization_id))
        deadline = time.monotonic() + _LOADING_LIMIT_S
        while pending := await self.app.indexer.applied_within(organization_id, head, ids, 20.0):
            if time.monotonic() > deadline:
                raise EngrainError(f"The indexes {', '.join(sorted(pending))} do not catch up.")


@asynccontextmanager
async def opened(folder: Path, beginning_days: float) -> AsyncIterator[Annals]:
    """Open a data folder so many days before now."""
    today = datetime.now(UTC)
    calendar = Calendar(today - timedelta(days=beginning_days))
    async with open_app(Settings(data_dir=folder, log_level="error"), logs=LogRing(), clock=calendar) as app:
        yield Annals(app, calendar, today)


def _related(fields: EntityFields, ids: dict[str, str]) -> EntityFields:
    links = (link.partition(":") for link in fields.related_to or ())
    return fields.model_copy(update={"related_to": [f"{name}:{ids[key]}" for name, _, key in links]})
