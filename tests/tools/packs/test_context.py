"""Context packs: what is in them, for whom, and how a request is read."""

from typing import Any

import pytest
from mcp.client import Client

from stores.embedding import EmbeddingFailed
from stores.errors import NotFound, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.synthesis.world import GOAL, keep
from tests.tools.synthesis.world import world as cards
from tools.catalogue import by_name
from tools.mcp_server import build_mcp_server

pytestmark = pytest.mark.anyio


async def project(person: Person, name: str = "Harborlight") -> str:
    return await keep(person, name, "project")


async def world(person: Person) -> dict[str, str]:
    ids = await cards(person)
    ids["done"] = await keep(
        person, "Refund double charges", "task", "Cards were charged twice.", metadata={"status": "done"}
    )
    await caught_up(person)
    return ids


def items(pack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for section in pack["sections"] for item in section["items"]}


def facets(pack: dict[str, Any]) -> list[str]:
    return [section["facet"] for section in pack["sections"]]


async def test_a_pack_shows_facets_in_order_with_titles_and_without_empty_ones(owner: Person) -> None:
    ids = await world(owner)
    pack = await owner.call("context", goal=GOAL)
    assert facets(pack) == [
        "active_work", "decisions", "constraints", "procedures", "gotchas", "prior_art", "recent_memory",
    ]  # fmt: skip
    assert [section["title"] for section in pack["sections"]][:2] == ["Active Work", "Decisions"]
    found = items(pack)
    assert set(found) == {ids[key] for key in ids if key not in ("archived", "off")}
    assert pack["total_items"] == len(found)
    assert pack["degraded"] == {}
    assert "could be searched" not in pack["markdown"]
    assert (found[ids["done"]]["facet"], found[ids["task"]]["facet"]) == ("prior_art", "active_work")
    echoed = ("goal", "intent", "layer", "query", "domain", "project", "evidence")
    assert [pack[key] for key in echoed] == [GOAL, "build", "recall", GOAL, None, None, None]


async def test_an_item_says_what_it_is_and_why_it_is_there(owner: Person) -> None:
    ids = await world(owner)
    item = items(await owner.call("context", goal=GOAL))[ids["procedure"]]
    assert item["content"] == "1. Ask the provider. 2. Charge the card."
    assert 0 < item["score"] <= 1
    assert item["reason"].startswith("It ")
    assert item["reason"].endswith(".")
    assert (item["source"], item["metadata"]) == (None, {"author": "owner"})
    assert (item["quality"]["origin"], item["quality"]["project_id"]) == ("graph", None)
    assert item["related"] == [
        {
            "id": ids["rule"], "type": "rule", "name": "No card numbers in logs", "relationship": "REQUIRES",
            "direction": "outgoing", "distance": 1, "content": "A passenger's card stays with the provider.",
            "metadata": {},
        }
    ]  # fmt: skip
    backwards = items(await owner.call("context", goal=GOAL))[ids["rule"]]["related"]
    assert [(each["id"], each["direction"]) for each in backwards] == [(ids["procedure"], "incoming")]


async def test_audit_shows_all_metadata_and_how_an_item_was_found(owner: Person) -> None:
    ids = await world(owner)
    item = items(await owner.call("context", goal=GOAL, audit=True))[ids["task"]]
    metadata = item["metadata"]
    assert {"status", "complexity", "memory_scope", "revision", "retrieval", "passage"} <= metadata.keys()
    assert metadata["retrieval"]["sources"] == metadata["retrieval_signals"]
    lean = items(await owner.call("context", goal=GOAL))[ids["task"]]["metadata"]
    assert lean == {"author": "owner", "status": "blocked", "priority": "medium"}


async def test_tasks_under_way_lead_by_state_and_then_by_what_changed_last(owner: Person) -> None:
    home = await project(owner)
    states = ("review", "doing", "blocked", "review", "doing")
    made = [await keep(owner, "Step", "task", metadata={"status": state, "project_id": home}) for state in states]
    await caught_up(owner)
    pack = await owner.call("context", goal="Which colours do the walls get?", project=home)
    assert [made.index(each) for each in items(pack)] == [4, 1, 2]


async def test_of_what_is_equal_the_later_comes_first_in_a_document_as_well(owner: Person) -> None:
    said = [{"occurred_at": f"2026-01-0{day}"} for day in range(1, 7)]
    made = [await keep(owner, "Charges are retried", "decision", "Once.", metadata=each) for each in said]
    await caught_up(owner)
    asked = {"query": "charges are retried", "types": ["decision"]}
    assert [hit["id"] for hit in (await owner.call("search", **asked))["results"]] == made[::-1]
    assert list(items(await owner.call("context", goal="charges are retried"))) == made[:2:-1]
    drafted = await owner.call("synthesis_draft", goal="charges are retried", depth="brief")
    assert drafted["artifact"]["source_ids"][0] == made[-1]


async def test_the_text_shows_every_item_within_its_budget(owner: Person) -> None:
    ids = await world(owner)
    pack = await owner.call("context", goal=GOAL)
    assert all(f"`{each}`" in pack["markdown"] for each in items(pack))
    assert "REQUIRES → " in pack["markdown"]
    assert pack["markdown"].endswith(pack["usage_hint"] + "\n")
    small = await owner.call("context", goal=GOAL, markdown_token_budget=150)
    assert len(small["markdown"]) <= 600
    assert "left out" in small["markdown"]
    assert items(small).keys() == items(pack).keys(), "the budget concerns the text alone"
    assert len((await owner.call("context", goal=GOAL, markdown_token_budget=None))["markdown"]) > 100
    assert ids["off"] not in pack["markdown"]


async def test_waking_up_is_short_and_has_nothing_related(owner: Person) -> None:
    await world(owner)
    pack = await owner.call("context", goal=GOAL, layer="wake", limit=50)
    assert pack["total_items"] <= 8
    assert set(facets(pack)) <= {"recent_memory", "active_work", "decisions", "gotchas", "procedures"}
    assert not any(item["related"] for item in items(pack).values())


async def test_limits_bound_the_pack_and_what_is_related(owner: Person) -> None:
    ids = await world(owner)
    assert (await owner.call("context", goal=GOAL, limit=2))["total_items"] == 2
    for fields in ({"related_limit": 0}, {"include_related": False}):
        assert not any(item["related"] for item in items(await owner.call("context", goal=GOAL, **fields)).values())
    hub = await keep(owner, "Cards", "domain", "How a passenger's card is charged.",
                     related_to=[f"about:{each}" for each in ids.values()])  # fmt: skip
    await caught_up(owner)
    pack = await owner.call("context", goal=GOAL, intent="research", related_limit=5)
    assert len(items(pack)[hub]["related"]) == 5
    assert ids["archived"] not in {each["id"] for each in items(pack)[hub]["related"]}


async def test_nothing_known_is_an_empty_pack(owner: Person) -> None:
    pack = await owner.call("context", goal="anything at all")
    assert (pack["sections"], pack["total_items"], pack["usage_metadata"]) == ([], 0, {})
    assert pack["usage_hint"] in pack["markdown"]


async def test_a_domain_joins_the_words_to_look_for(owner: Person) -> None:
    note = await keep(owner, "Kestrel nest box", "note", "It hangs at the barn.")
    await caught_up(owner)
    pack = await owner.call("context", goal="Where is it", domain="kestrel")
    assert pack["query"] == "Where is it\nkestrel"
    assert note in items(pack)
    assert (await owner.call("context", goal="A Kestrel", domain="kestrel"))["query"] == "A Kestrel"


async def test_the_work_of_a_project_leads_whatever_the_goal(owner: Person) -> None:
    place = await project(owner)
    states = ("doing", "blocked", "review", "doing", "blocked", "review")
    tasks = [
        await keep(owner, f"Paint hull {number}", "task", metadata={"project_id": place, "status": status})
        for number, status in enumerate(states)
    ]
    near = await keep(owner, GOAL, "task", metadata={"project_id": place})
    await caught_up(owner)
    pack = await owner.call("context", goal=GOAL, project=place, limit=40, layer="deep_search")
    work = next(section["items"] for section in pack["sections"] if section["facet"] == "active_work")
    assert len(work) == 5
    assert {item["id"] for item in work} <= set(tasks)
    wide = await owner.call("context", goal=GOAL, project=place, limit=50, layer="deep_search")
    work = next(section["items"] for section in wide["sections"] if section["facet"] == "active_work")
    assert [item["id"] in tasks for item in work[:5]] == [True] * 5
    assert work[5]["id"] == near
    sure = await owner.call("context", goal=GOAL, project=place, min_score=0.9)
    assert not items(sure).keys() & set(tasks)
    assert {item["reason"].partition(",")[0].rstrip(".") for item in work[:5]} <= {
        "The project is at work on it",
        "It is work of the project that is blocked",
        "It is work of the project that waits for review",
    }


async def test_a_project_has_its_own_records_and_those_of_none(owner: Person, member: Person) -> None:
    here, there = await project(owner), await project(owner, "Tidepool")
    own = await keep(owner, "Card rule here", "rule", GOAL, metadata={"project_id": here})
    others = await keep(owner, "Card rule there", "rule", GOAL, metadata={"project_id": there})
    private = {"project_id": there, "memory_scope": "private"}
    hidden = await keep(owner, "Card rule of mine there", "rule", GOAL, metadata=private)
    none = await keep(owner, "Card rule of all", "rule", GOAL)
    await caught_up(owner)
    assert set(items(await owner.call("context", goal=GOAL, project=here))) == {own, none}
    wide = {"goal": GOAL, "limit": 50, "layer": "deep_search"}
    assert {own, others, hidden, none} <= items(await owner.call("context", **wide)).keys()
    assert hidden not in items(await member.call("context", **wide))


async def test_a_project_that_is_none_for_the_caller_is_not_found(owner: Person, stranger: Person) -> None:
    place = await project(owner)
    for asked, person in (("nowhere", owner), (place, stranger)):
        await person.refused("context", NotFound, match=f"There is no project {asked}", goal=GOAL, project=asked)


async def test_the_project_of_a_pack_is_no_news(owner: Person) -> None:
    place = await project(owner)
    rule = await keep(owner, "Charge cards once", "rule", GOAL, metadata={"project_id": place})
    epic = await keep(owner, "Cards", "epic", metadata={"project_id": place}, related_to=[f"part_of:{rule}"])
    await caught_up(owner)
    found = items(await owner.call("context", goal=GOAL, project=place, intent="decide"))
    assert [each["id"] for each in found[rule]["related"]] == [epic]


async def test_the_part_that_matches_is_shown_of_a_long_text(owner: Person) -> None:
    filler = "Plain words about nothing in particular. " * 400
    long = f"{filler}The xylophone is under the stairs. {filler}"
    note = await keep(owner, "House", "note", long)
    await caught_up(owner)
    item = items(await owner.call("context", goal="Where is the xylophone under the stairs"))[note]
    assert "The xylophone is under the stairs." in item["content"]
    assert len(item["content"]) <= 1200


async def test_an_item_that_was_cut_is_said_to_be(owner: Person) -> None:
    kept = await keep(owner, "Charging", "decision", "No card is charged twice. " * 60)
    await caught_up(owner)
    pack = await owner.call("context", goal=GOAL, markdown_token_budget=32_000)
    assert items(pack)[kept]["content"].endswith(" …")
    assert pack["markdown"].endswith("\n\nTrimmed: 1 shortened. Read one whole by its id.\n")


async def test_evidence_is_a_search_beside_the_pack(owner: Person) -> None:
    ids = await world(owner)
    evidence = (await owner.call("context", goal=GOAL, evidence={}))["evidence"]
    assert [hit["id"] for hit in evidence["results"]] == [ids["session"]]
    assert evidence["filters"]["types"] == ["session"]
    assert (evidence["limit"], evidence["raw_memory_count"], evidence["retrieval_arm"]) == (24, 0, None)
    wide = {"types": ["rule", "document", "raw_memory"], "limit": 3, "include_retrieval_diagnostics": True}
    evidence = (await owner.call("context", goal=GOAL, evidence=wide))["evidence"]
    assert [hit["id"] for hit in evidence["results"]] == [ids["rule"]]
    assert "ranking_trace" in evidence["filters"]["graph_retrieval"]


async def test_evidence_may_be_ones_own_raw_memories(owner: Person, member: Person) -> None:
    kept = await owner.call("store_raw_memory", title="Cards", raw_content=GOAL)
    await caught_up(owner)
    wanted = {"types": ["raw_memory"]}
    evidence = (await owner.call("context", goal=GOAL, evidence=wanted))["evidence"]
    assert [hit["id"] for hit in evidence["results"]] == [kept["id"]]
    assert evidence["raw_memory_count"] == 1
    assert (await member.call("context", goal=GOAL, evidence=wanted))["evidence"]["results"] == []
    assert (await owner.call("context", goal=GOAL))["sections"] == []


async def test_naive_joins_ranks_alone_and_governs_the_sections(owner: Person) -> None:
    ids = await world(owner)
    pack = await owner.call("context", goal=GOAL, evidence={"retrieval_mode": "naive", "types": ["rule", "session"]})
    filters, evidence = pack["evidence"]["filters"], pack["evidence"]
    assert evidence["retrieval_arm"] == filters["retrieval_arm"] == filters["retrieval_mode"] == "naive"
    assert (filters["fusion_backend"], filters["naive_rrf_k"]) == ("reciprocal_rank_fusion", 60)
    assert filters["naive_lanes"] == ["lexical", "vector"]
    assert set(filters["naive_lane_counts"]) == {"lexical", "vector"}
    assert filters["supersession_gate"] == {"superseded_dropped": 0}
    assert filters["reserve_distilled_notes"] is False
    assert "graph_retrieval" not in filters
    found = items(pack)
    assert not any(item["related"] for item in found.values())
    assert ids["off"] in found, "ranks alone tell nothing of how good a hit is"
    scores = {each: item["score"] for each, item in found.items()}
    assert all(0 < score <= 1 for score in scores.values())
    assert all("linked" not in item["reason"] for item in found.values())


@pytest.mark.parametrize(
    "fields",
    [
        {"goal": ""}, {"goal": " \n"}, {"goal": "x", "intent": "hack"}, {"goal": "x", "layer": "deep"},
        {"goal": "x", "limit": 51}, {"goal": "x", "related_limit": 6}, {"goal": "x", "markdown_token_budget": 99},
        {"goal": "x", "markdown_token_budget": 32_001}, {"goal": "x", "evidence": {"types": ["walrus"]}},
        {"goal": "x", "evidence": {"limit": 0}}, {"goal": "x", "evidence": {"retrieval_mode": "slow"}}, {},
    ],
)  # fmt: skip
async def test_every_field_is_validated(owner: Person, fields: dict[str, Any]) -> None:
    await owner.refused("context", ValidationFailed, **fields)


async def test_without_vectors_a_pack_is_made_of_words(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await world(owner)

    def fails(*_: object) -> None:
        raise EmbeddingFailed("The model is away.")

    monkeypatch.setattr(type(owner.app.embedder), "embed_query", fails)
    pack = await owner.call("context", goal="idempotency key of charges", evidence={"types": ["decision"]})
    assert ids["decision"] in items(pack)
    assert pack["evidence"]["filters"]["search_source_degraded"] is True
    recalled = await owner.call("recall", query="idempotency key of charges")
    assert pack["degraded"] == recalled["degraded"] == {"vectors": "embedding_failed"}
    assert "Not all could be searched: vectors (embedding_failed)." in pack["markdown"].splitlines()


async def test_agents_get_the_text_and_no_reviews(owner: Person) -> None:
    ids = await world(owner)
    principal = owner.app.accounts.authenticate(owner.token)
    async with Client(build_mcp_server(owner.app, [by_name["context"]], caller=lambda _: principal)) as client:
        [tool] = (await client.list_tools()).tools
        answer = await client.call_tool("context", {"goal": GOAL})
        refused = await client.call_tool("context", {"goal": GOAL, "intent": "review"})
        misplaced = await client.call_tool("context", {"goal": GOAL, "evidence": {}})
    arguments = tool.input_schema["properties"]
    assert arguments.keys() == {
        "goal", "intent", "layer", "domain", "project", "agent_id", "limit", "include_related", "related_limit",
        "audit", "min_score", "markdown_token_budget",
    }  # fmt: skip
    assert "review" not in arguments["intent"]["enum"]
    assert "general" in arguments["intent"]["enum"]
    assert f"`{ids['decision']}`" in answer.content[0].text  # type: ignore[union-attr]  # it is text
    assert answer.structured_content == {"markdown": answer.content[0].text}  # type: ignore[union-attr]  # it is text
    assert refused.is_error
    assert misplaced.is_error


async def test_what_was_returned_is_recorded_unless_that_is_not_wanted(owner: Person) -> None:
    await world(owner)
    pack = await owner.call("context", goal=GOAL, agent_id="reviewer")
    recorded = pack["usage_metadata"]["usage_exposure"]
    assert (recorded["source_surface"], recorded["signal_type"]) == ("context", "exposure")
    assert recorded["returned_count"] == recorded["stamped_count"] == pack["total_items"]
    assert recorded["exclusions"] == []
    again = (await owner.call("context", goal=GOAL, agent_id="reviewer"))["usage_metadata"]["usage_exposure"]
    other = (await owner.call("context", goal=GOAL))["usage_metadata"]["usage_exposure"]
    assert recorded["session_key"] == again["session_key"] != other["session_key"]
    assert (await owner.call("context", goal=GOAL, record_exposure=False))["usage_metadata"] == {}


async def test_no_intent_hides_a_strong_hit_and_copies_are_shown_once(owner: Person) -> None:
    said = "The walrus service drops connections after forty idle seconds, because the balancer closes them."
    kinds = ("decision", "idea", "domain", "episode")
    ids = {kind: await keep(owner, f"Walrus connections, {kind}", kind, said) for kind in kinds}
    copy = await keep(owner, "Walrus connections, episode", "episode", said)
    await caught_up(owner)
    pack = await owner.call("context", goal="why does the walrus service drop idle connections?", intent="debug")
    assert {*facets(pack)} == {"decisions", "recent_memory"}
    assert len({ids["episode"], copy} & items(pack).keys()) == 1
    assert {each["id"] for each in pack["also_known"]} == {ids["idea"], ids["domain"]}
    closing = pack["markdown"].split("## Also Known")[1]
    assert all(f"`{ids[kind]}`" in closing for kind in ("idea", "domain"))


async def test_every_intent_names_the_record_of_an_identifier(owner: Person) -> None:
    said = "The gateway refuses ERR-4711 when the basket is empty."
    known = await keep(owner, "ERR-4711 at checkout", "error_pattern", said)
    await caught_up(owner)
    for intent in ("plan", "ideate", "research", "decide", "general", "debug"):
        pack = await owner.call("context", goal="why do we get ERR-4711?", intent=intent)
        assert known in {*items(pack), *(each["id"] for each in pack["also_known"])}, intent


async def test_a_pack_names_the_own_raw_memories_that_are_about_the_goal(owner: Person, member: Person) -> None:
    raw = (await owner.call("store_raw_memory", sync=True, raw_content="The walrus key hangs behind the boiler."))["id"]
    await caught_up(owner)
    goal = "where does the walrus key hang?"
    pack, other = await owner.call("context", goal=goal), await member.call("context", goal=goal)
    assert [each["id"] for each in pack["also_known"]] == [raw]
    assert "Nothing" not in pack["markdown"]
    assert (other["also_known"], "Nothing that is kept" in other["markdown"]) == ([], True)


async def test_a_goal_that_nothing_is_about_is_told_so_and_gets_little(owner: Person) -> None:
    await world(owner)
    pack = await owner.call("context", goal="bake sourdough bread with rye")
    assert "Nothing here is about this" in pack["markdown"] or "Nothing that is kept" in pack["markdown"]
    assert pack["total_items"] <= 3
    assert "Nothing here" not in (await owner.call("context", goal=GOAL))["markdown"]
