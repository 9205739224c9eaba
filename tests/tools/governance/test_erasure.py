"""Deleting a memory: its words are in no file of the data folder, and in no table of PostgreSQL."""

from functools import partial

import anyio
import psycopg
import pytest

import tools.app
from tests.people import Person, caught_up
from tests.postgres import postgres
from tools.app import App
from tools.jobs.runner import jobs_running
from tools.runtime.settings import Settings

__all__ = ["postgres"]

pytestmark = pytest.mark.anyio

MARKER = "Zyxquorvath"


def holding(settings: Settings) -> list[str]:
    folder, forms = settings.data_dir, (MARKER.encode(), MARKER.lower().encode())
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = [str(path) for path in files if any(form in path.read_bytes() for form in forms)]
    if settings.database_url:
        with psycopg.connect(settings.database_url.replace("+psycopg", "")) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (name,) in tables:
                query = f"SELECT 1 FROM {name} AS t WHERE t::text ILIKE %s"
                found += [name] if connection.execute(query.encode(), [f"%{MARKER}%"]).fetchone() else []
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    is_there = request.param == "postgresql"
    url = request.getfixturevalue("postgres").create_database() if is_there else ""
    return settings.model_copy(update={"database_url": url})


@pytest.fixture(autouse=True)
def _soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes tidy up at once; a server waits for half a minute without writes."""
    monkeypatch.setattr(tools.app, "IndexerOptions", partial(tools.app.IndexerOptions, quiet_s=0.1))


async def test_deleted_words_are_nowhere(own_app: App, owner: Person, settings: Settings) -> None:
    text = f"The passphrase of the *vault* is {MARKER} seven,\nand its door has `two` locks."
    kept = await owner.call("remember", title=f"About {MARKER}", content=text, idempotency_key="k1")
    other = await owner.call("remember", title="Other", content="The vault is in the cellar.")
    ask = {"goal": "The vault", "remember": True, "entity_ids": [kept["id"], other["id"]]}
    document = (await owner.call("synthesis_draft", **ask))["artifact"]
    assert MARKER in document["markdown"]
    await owner.call("reflect", content=f"We decided that {MARKER} opens the vault.", persist_review=True)
    await owner.call("search", query=f"Where is {MARKER}?")
    await caught_up(owner)
    assert holding(settings)
    for capture in (await owner.call("list_captures", entity_type="raw_memory"))["captures"]:
        if MARKER in capture["raw_content"] and capture["capture_surface"] == "reflect":
            await owner.call("correct_memory", source_id=capture["id"], action="delete")
    done = await owner.call("correct_memory", source_id=kept["raw_memory_id"], action="delete")
    assert done["erasure"] == "pending"
    with anyio.fail_after(60):
        async with jobs_running(own_app):
            while (await owner.call("get_job", job_id=done["erasure_job_id"]))["status"] != "complete":  # noqa: ASYNC110
                await anyio.sleep(0.2)
    assert holding(settings) == []
