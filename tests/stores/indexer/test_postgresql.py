"""The indexer over a ledger that several processes share, on a server that may go away."""

from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from stores.indexer import IndexerOptions
from tests.indexes import degraded, differences
from tests.postgres import PostgresServer
from tests.stores.indexer.samples import ORG, World, draft, until
from tools.app import open_stores
from tools.runtime.settings import Settings


def test_two_servers_of_one_ledger_each_follow_it_into_indexes_of_their_own(database: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = World(tmp_path / "one", url=database), World(tmp_path / "other", url=database, organizations=())
    try:
        one.start(poll_s=0.05)
        other.start(poll_s=0.05)
        assert other.by_words("kestrel") == []
        one.write(draft("a", "kestrel"))
        other.write(draft("b", "kestrel"))
        for each in (one, other):
            until(lambda each=each: each.by_words("kestrel") == ["a", "b"])  # type: ignore[misc]
            each.settle()
            assert differences(each.indexer, ORG) == []
    finally:
        one.close()
        other.close()


def test_a_notified_server_indexes_at_once(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.app.IndexerOptions", partial(IndexerOptions, poll_s=600, quiet_s=600))
    of = partial(Settings, database_url=database, embedding_provider="none")
    world = World(tmp_path, url=database)
    with open_stores(of(data_dir=tmp_path / "1")) as one, open_stores(of(data_dir=tmp_path / "2")) as other:
        world.ledger, ledger = one.ledger, world.ledger
        assert other.indexer.wait_applied(ORG, 0, (), 20) == []
        # Nobody waits for it or polls. The first commits may come before the other one listens.
        until(lambda: other.indexer.applied(ORG, world.write(draft(uuid4().hex)) - 1), 20)
    ledger.close()


def test_while_the_ledger_is_away_the_indexes_stay_and_afterwards_they_follow_on(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    world = World(tmp_path, url=database)
    name = database.rsplit("/", 1)[1]
    try:
        world.start(poll_s=0.05)
        world.write(draft("a", "kestrel"))
        world.settle()
        generations = sorted(tmp_path.rglob("current"))
        before = [each.read_text() for each in generations]
        postgres._administer(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.disconnect_all(database)
        world.indexer.notify(ORG, 99)
        until(lambda: world.indexer._registry.get(ORG).lexical._postponed > 0)
        assert world.by_words("kestrel") == ["a"]
        assert degraded(world.indexer, ORG) == set()
        postgres._administer(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        world.write(draft("b", "heron"))
        until(lambda: world.by_words("heron") == ["b"])
        assert [each.read_text() for each in generations] == before
        assert differences(world.indexer, ORG) == []
    finally:
        world.close()
