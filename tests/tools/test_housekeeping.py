"""Tidying removes what is past its time and nothing else."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from stores.embedding import Embedder
from tests.people import person
from tools.app import open_app
from tools.housekeeping import FEED_KEPT, SESSIONS_KEPT, tidy
from tools.logs import LogRing
from tools.settings import Settings
from tools.threads import in_thread

pytestmark = pytest.mark.anyio

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


async def test_old_feed_rows_and_sessions_go_and_search_goes_on(tmp_path: Path, embedder: Embedder) -> None:
    now = START
    async with open_app(Settings(data_dir=tmp_path), logs=LogRing(), clock=lambda: now, embedder=embedder) as app:
        owner = await person(app, "owner")
        for number in range(3):
            await owner.call("create_entity", name=f"Note {number}", sync=True)
        now = START + FEED_KEPT - timedelta(hours=1)
        await in_thread(tidy, app.ledger, app.indexer, app.clock)
        assert len(app.ledger.changes(owner.organization_id, 0, 10)) == 3
        now = START + SESSIONS_KEPT + timedelta(days=31)
        await in_thread(tidy, app.ledger, app.indexer, app.clock)
        assert len(app.ledger.changes(owner.organization_id, 0, 10)) < 3
        session = owner.signed.identity.session
        assert session is not None
        assert app.ledger.session(session.id) is None
        assert app.indexer.check(owner.organization_id) == []
