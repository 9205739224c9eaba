"""Tidying removes what is past its time and nothing else."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from stores.embedding import Embedder
from stores.ledger import Ledger
from stores.ledger.sessions import REMEMBERED
from stores.records import ApiKey, Organization
from tests.indexes import differences
from tests.people import host_of, person, tokens_made
from tests.stores.indexer.samples import draft
from tools.app import open_app
from tools.frame.threads import in_thread
from tools.jobs.functions import NotYet
from tools.jobs.status import keep_tidy
from tools.runtime.housekeeping import FEED_KEPT, TIDYING, keep_house, plan_tidying, tidy
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

pytestmark = pytest.mark.anyio

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


async def test_old_feed_rows_and_sessions_go_and_search_goes_on(tmp_path: Path, embedder: Embedder) -> None:
    now = START
    async with open_app(Settings(data_dir=tmp_path), logs=LogRing(), clock=lambda: now, embedder=embedder) as app:
        owner = await person(app, "owner")
        for number in range(3):
            await owner.call("create_entity", name=f"Note {number}", sync=True)
        await tokens_made(owner)
        now = START + FEED_KEPT - timedelta(hours=1)
        await in_thread(tidy, app.ledger, app.indexer, app.clock)
        assert len(app.ledger.feed.changes(owner.organization_id, 0, 10)) == 3
        now = START + REMEMBERED + timedelta(days=31)
        await in_thread(tidy, app.ledger, app.indexer, app.clock)
        assert len(app.ledger.feed.changes(owner.organization_id, 0, 10)) < 3
        session = owner.signed.identity.session
        assert session is not None
        assert app.ledger.people.session(session.id) is None
        assert differences(app.indexer, owner.organization_id) == []


async def test_expired_rows_and_rests_of_deleted_organizations_go(tmp_path: Path, embedder: Embedder) -> None:
    now = START
    async with open_app(Settings(data_dir=tmp_path), logs=LogRing(), clock=lambda: now, embedder=embedder) as app:
        owner = await person(app, "owner")
        shared = Organization("shared", "Shared", "shared", is_personal=False, created_at=now)
        await in_thread(app.ledger.people.create_organization, shared, owner.user_id)
        with app.ledger.transaction("shared", owner.user_id) as tx:
            tx.records.create_entity(draft("a"))
        app.ledger.tickets.keep("oauth_state", "hash", {}, START + timedelta(hours=1))
        # As a process that dies right after the deletion leaves it.
        app.ledger.people.on_delete.append(fail)
        with pytest.raises(ZeroDivisionError):
            app.ledger.people.delete_organization("shared")
        app.ledger.people.on_delete.remove(fail)
        assert not (tmp_path / "organizations" / "shared").exists()
        now = START + timedelta(hours=2)
        await in_thread(tidy, app.ledger, app.indexer, app.clock)
        assert app.ledger.people.erase_deleted() == 0
        assert app.ledger.people.prune_expired() == 0


async def test_every_round_writes_uses_of_api_keys_and_plans_tidying(tmp_path: Path, embedder: Embedder) -> None:
    async with open_app(Settings(data_dir=tmp_path), logs=LogRing(), clock=lambda: START, embedder=embedder) as app:
        owner = await person(app, "owner")
        key = ApiKey("k1", owner.organization_id, owner.user_id, "k", "sk_live_12345678", (), (), (), True, START)
        app.ledger.api_keys.create(key, "hash")
        app.ledger.api_keys.note_use("k1")
        second = Ledger.open(app.settings.ledger_url)
        try:
            with anyio.move_on_after(20) as patience:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(keep_house, app.ledger, every_s=0.01))
                    while used_at(second, key) is None:  # noqa: ASYNC110 - nobody tells
                        await anyio.sleep(0.01)
                    tasks.cancel_scope.cancel()
            assert not patience.cancelled_caught
            assert used_at(second, key) == START
            await in_thread(plan_tidying, app.ledger)
            (planned,) = (await owner.call("list_jobs"))["jobs"]
            assert (planned["function"], planned["status"]) == (TIDYING, "deferred")
            with pytest.raises(NotYet):
                await in_thread(keep_tidy, host_of(app), None)
            assert (await (await person(app, "other", of=owner)).call("list_jobs"))["jobs"] == []
        finally:
            second.close()


def used_at(ledger: Ledger, key: ApiKey) -> datetime | None:
    found = ledger.api_keys.key(key.organization_id, key.id)
    assert found is not None
    return found.last_used_at


def fail(_organization_id: str) -> None:
    raise ZeroDivisionError
