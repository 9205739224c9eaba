"""What a search says about itself and its hits, in the words of the interface."""

import threading
import time

import pytest

from tests.people import Person, person
from tests.stores.embedding.servers import Reply, running
from tools.app import open_app
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

pytestmark = pytest.mark.anyio


async def test_a_lane_that_fails_is_named_as_among_those_that_answer(settings: Settings) -> None:
    away = {
        "embedding_provider": "openai", "embedding_model": "m", "embedding_base_url": "http://127.0.0.1:9/v1",
        "embedding_timeout_s": 0.1,
    }  # fmt: skip
    async with open_app(settings.model_copy(update=away), logs=LogRing()) as app:
        owner = await person(app, "owner")
        await owner.call("create_entity", name="kettle")
        filters = (await owner.call("search", query="kettle"))["filters"]
        assert filters["search_source_degraded"] is True
        failed = {failure["source"] for failure in filters["search_source_failures"]}
        assert failed == {"vector"}
        assert {failure["error_type"] for failure in filters["search_source_failures"]} <= {
            "embedding_failed", "index_unavailable", "index_incomplete",
        }  # fmt: skip
        assert "127.0.0.1" not in str(filters)
        assert filters["search_source_failure_count"] == 1
        assert failed.isdisjoint(filters["graph_retrieval"]["sources"])
        assert {f"{name}_count" for name in failed} <= set(filters["graph_retrieval"])


async def test_diagnostics_do_not_count_what_others_keep_to_themselves(owner: Person, member: Person) -> None:
    made = await owner.call("create_entity", name="On quetzals", content="The quetzalcode opens it.", sync=True)
    asked = {"query": "quetzalcode", "boost_recent": False, "include_retrieval_diagnostics": True}

    async def seen() -> object:
        found = (await owner.call("search", **asked))["filters"]["graph_retrieval"]
        details = found["source_details"][made["id"]]
        return details["original_scores"], details["ranks"], found["lexical_count"], found["merged_count"]

    before = await seen()
    for number in range(8):
        secret = {"memory_scope": "private"}
        text = f"quetzalcode {number} " * 3
        await member.call("create_entity", name=f"mine {number}", content=text, metadata=secret, sync=True)
    assert await seen() == before


async def test_a_document_that_was_not_ingested_has_a_hint_of_its_own(owner: Person) -> None:
    place = {"source_id": "elsewhere", "heading_path": ["Top"]}
    made = await owner.call(
        "create_entity", name="Teapot manual", entity_type="document", content="Warm it.", metadata=place, sync=True
    )
    metadata = (await owner.call("search", query="teapot manual"))["results"][0]["metadata"]
    assert metadata["hint"] == (
        f"Read it whole with GET /api/entities/{made['id']}; it was not ingested, so nothing stands around it."
    )
    assert (metadata["source_id"], metadata["heading_path"], metadata["document_id"]) == ("elsewhere", ["Top"], None)
    page = [{"url": "u", "content": "# Samovar\n\nLight it."}]
    await owner.call("ingest_documents", source_name="Docs", documents=page, sync=True)
    chunk = (await owner.call("search", query="samovar"))["results"][0]
    assert "fetch_slice" in chunk["metadata"]["hint"]
    assert chunk["metadata"]["source_id"].startswith("source_")


async def test_without_an_embedder_a_hit_still_names_its_passage(settings: Settings) -> None:
    text = "Plain words about nothing in particular. " * 200 + "\n\nThe xylophone procedure."
    async with open_app(settings.model_copy(update={"embedding_provider": "none"}), logs=LogRing()) as app:
        owner = await person(app, "owner")
        await owner.call("create_entity", name="Manual", content=text, sync=True)
        hit = (await owner.call("search", query="xylophone"))["results"][0]
        passage = hit["metadata"]["passage"]
        assert passage["start"] > 1_000
        assert "xylophone" in f"Manual\n{text}"[passage["start"] : passage["end"]]


async def test_diagnostics_describe_the_page_that_is_shown(owner: Person) -> None:
    await owner.call("bulk_create_entities", entities=[{"name": f"Kettle {number}"} for number in range(70)], sync=True)
    for enhanced, key in ((True, "graph_retrieval"), (False, "retrieval")):
        fields = {"offset": 60, "limit": 5, "include_retrieval_diagnostics": True, "use_enhanced": enhanced}
        found = await owner.call("search", query="kettle", **fields)
        shown = [hit["id"] for hit in found["results"]]
        described = found["filters"][key]
        assert len(shown) == 5
        assert [row["entity_id"] for row in described["ranking_trace"]][:5] == shown
        assert [row["rank"] for row in described["ranking_trace"]][:5] == [61, 62, 63, 64, 65]
        assert set(shown) <= set(described["source_details"])


async def test_a_hanging_endpoint_holds_a_search_for_its_own_time_out_only(settings: Settings) -> None:
    never = threading.Event()
    with running(lambda _: Reply(wait=never)) as server:
        away = {
            "embedding_provider": "openai", "embedding_model": "m", "embedding_base_url": server.url,
            "embedding_dimension": 4, "embedding_question_timeout_s": 0.5,
        }  # fmt: skip
        async with open_app(settings.model_copy(update=away), logs=LogRing()) as app:
            owner = await person(app, "owner")
            await owner.call("create_entity", name="kettle")
            durations, seen = [], set()
            # The record is in the lexical index within moments.
            for _ in range(50):
                began = time.monotonic()
                found = await owner.call("search", query="kettle")
                durations.append(time.monotonic() - began)
                seen |= {failure["error_type"] for failure in found["filters"]["search_source_failures"]}
                assert "127.0.0.1" not in str(found)
                if len(durations) > 2 and found["results"]:
                    break
            assert [hit["name"] for hit in found["results"]] == ["kettle"]
            assert "embedding_failed" in seen <= {"embedding_failed", "index_unavailable", "index_incomplete"}
            assert max(durations) < 3
            assert min(durations) < 0.4, "each of them waited"
        never.set()
