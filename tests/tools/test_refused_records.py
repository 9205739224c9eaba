"""What people and operators are told of a record that no index takes: that there is one, never to others which."""

import sqlite3
import time
from typing import Any

import anyio
import pytest

from tests.people import Person, person
from tools.app import App
from tools.frame.threads import in_thread
from tools.runtime.health import readiness
from tools.runtime.log_ring import LogRing, configure_logs
from tools.runtime.settings import Settings
from tools.search.answers import SearchResponse, for_agents

pytestmark = pytest.mark.anyio
PATIENCE_S = 30
EACH = {"lexical": 1, "graph": 1, "vectors": 1}


@pytest.fixture
def spoiling(app: App, settings: Settings) -> None:
    """Damage every record of a certain name as it is written: its revision is no number, which no engine takes."""
    ledger = sqlite3.connect(settings.data_dir / "ledger.sqlite")
    with ledger:
        ledger.execute(
            "CREATE TRIGGER spoil AFTER INSERT ON entities WHEN NEW.name = 'poison' "
            "BEGIN UPDATE entities SET revision = 'many' WHERE id = NEW.id; END"
        )
    ledger.close()


async def indexes(app: App) -> dict[str, dict[str, Any]]:
    report = await in_thread(readiness, app)
    return {line.name: line.model_dump() for line in report.indexes}


async def refused(app: App) -> dict[str, int]:
    return {name: line["refused"] for name, line in (await indexes(app)).items() if "refused" in line}


async def refused_everywhere(app: App) -> None:
    until = time.monotonic() + PATIENCE_S
    while await refused(app) != EACH:
        assert time.monotonic() < until, await indexes(app)
        await anyio.sleep(0.01)


@pytest.mark.usefixtures("spoiling")
async def test_searches_and_health_report_refused_records_without_ids(app: App, owner: Person, member: Person) -> None:
    logs = LogRing()
    configure_logs("info", "json", logs)
    await owner.call("create_entity", name="kettle", content="It whistles.", sync=True)
    private = {"memory_scope": "private"}
    made = await member.call("create_entity", name="poison", content="a secret whistle", metadata=private)
    await refused_everywhere(app)
    later = await owner.call("create_entity", name="pot", content="It whistles, too.")
    for who in (owner, member):
        until = time.monotonic() + PATIENCE_S
        while (answer := await who.call("search", query="whistles"))["total"] < 2:
            assert time.monotonic() < until, "what came after it does not show"
            await anyio.sleep(0.01)
        assert {hit["name"] for hit in answer["results"]} == {"kettle", "pot"}
        filters = answer["filters"]
        assert filters["search_source_degraded"] is True
        assert {"source": "lexical", "error_type": "index_incomplete"} in filters["search_source_failures"]
        assert made["id"] not in str(answer)
        read = for_agents(SearchResponse.model_validate(answer))
        assert "lexical (index_incomplete)" in read["not_searched"]
        recalled = await who.call("recall", query="whistles")
        assert recalled["degraded"]["lexical"] == "index_incomplete"
        health = await who.call("admin_health")
        assert health["status"] == "degraded"
        assert health["graph_connected"] is True
        assert made["id"] not in str((recalled, health))
    assert later["id"] in str(answer)
    shown = await indexes(app)
    assert {shown[name]["state"] for name in ("lexical", "graph", "vectors")} == {"degraded"}
    assert made["id"] not in str(shown)
    assert made["id"] not in str(logs.of(owner.organization_id)), "owners read these"


@pytest.mark.usefixtures("spoiling")
async def test_another_organization_hears_nothing_of_it(app: App, owner: Person) -> None:
    stranger = await person(app, "stranger")
    await stranger.call("create_entity", name="kettle", content="It whistles.", sync=True)
    await owner.call("create_entity", name="poison", content="whistles")
    await refused_everywhere(app)
    answer = await stranger.call("search", query="whistles")
    assert answer["filters"]["search_source_degraded"] is False
    assert (await stranger.call("admin_health"))["status"] == "healthy"
