"""Search: found by words, by meaning and through the graph; ranked, paged and filtered by what the caller may see."""

import threading
from typing import Any

import pytest

from stores.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import LANE_DEPTH, Plan
from tools.search.answers import for_agents

pytestmark = pytest.mark.anyio

NOTES = [
    ("Database connection pooling", "We keep ten connections to PostgreSQL open and reuse them.", "pattern"),
    ("Retry policy", "HTTP calls are retried three times with exponential backoff and jitter.", "pattern"),
    ("Error E4711", "The build fails with E4711 when the cache folder is read-only.", "error_pattern"),
    ("Deploy on Fridays", "Never deploy on a Friday afternoon; wait until Monday.", "rule"),
    ("Use SQLite for the ledger", "We decided for SQLite because it needs no server.", "decision"),
]


async def store(person: Person) -> dict[str, str]:
    entities = [{"name": name, "content": content, "entity_type": kind} for name, content, kind in NOTES]
    made = await person.call("bulk_create_entities", entities=entities, sync=True)
    assert made["background_jobs"]["pending_indexes"] == []
    return {entity["name"]: entity["id"] for entity in made["entities"]}


async def names(person: Person, query: str, **fields: Any) -> list[str]:
    return [hit["name"] for hit in (await person.call("search", query=query, **fields))["results"]]


async def test_hits_below_the_least_score_are_neither_shown_nor_counted(owner: Person) -> None:
    await store(owner)
    found = await owner.call("search", query="how often do we repeat a call?")
    scores = [hit["score"] for hit in found["results"]]
    assert found["total"] == len(scores) > 2
    for least in (scores[1], 1.0):
        page = await owner.call("search", query="how often do we repeat a call?", min_score=least)
        assert [hit["score"] for hit in page["results"]] == [score for score in scores if score >= least]
        assert page["total"] == len(page["results"])
        assert page["filters"]["min_score"] == least
    with pytest.raises(ValidationFailed, match="min_score"):
        await owner.call("search", query="call", min_score=1.1)


async def test_found_by_words_by_identifier_and_by_meaning(owner: Person) -> None:
    await store(owner)
    assert (await names(owner, "exponential backoff"))[0] == "Retry policy"
    assert (await names(owner, "E4711"))[0] == "Error E4711"
    assert (await names(owner, "when should we not release to production?"))[0] == "Deploy on Fridays"


FILLER = "\n".join(
    f"    canvas.draw(circle_{number}, radius={number}, colour=palette[{number}])" for number in range(30)
)
CODE = {
    "paint": f"def paint(canvas, palette):\n{FILLER}\n    sort_dates_by_key(open_ledger(palette))\n",
    "write": "def write(dates, by):\n    # sort of a log\n    for key in dates:\n        log.write(by, key)\n",
    "merge": "# 排序日期\ndef merge(left, right):\n    while left and right:\n        yield left.pop(0)\n",
}


@pytest.mark.parametrize(
    ("query", "wanted", "is_exact"),
    [
        pytest.param("sort dates by key", "paint", True, id="it calls sort_dates_by_key"),
        pytest.param("sort dates by key", "write", False, id="one word here and one there"),
        pytest.param("key ledger dates", "paint", False, id="the parts of two names"),
        pytest.param("open_ledger of a palette", "paint", True, id="an identifier and a word"),
        pytest.param('"open ledger" palette', "paint", True, id="a phrase and a word"),
        pytest.param("palette", "paint", True, id="one word"),
        pytest.param("sort dates by key in May 2023", "paint", True, id="names beside the days that it names"),
        pytest.param("in May 2023 palette", "paint", True, id="a word beside the days that it names"),
        pytest.param("排序 日期", "merge", True, id="a script without spaces"),
    ],
)
async def test_code_is_exact_where_it_says_it_in_one_piece(
    owner: Person, query: str, wanted: str, is_exact: bool
) -> None:
    code = {"entity_type": "pattern", "metadata": {"occurred_at": "2023-05-03"}}
    entities = [{"name": name, "content": content, **code} for name, content in CODE.items()]
    await owner.call("bulk_create_entities", entities=entities, sync=True)
    scores = {hit["name"]: hit["score"] for hit in (await owner.call("search", query=query))["results"]}
    assert (scores[wanted] >= 0.9) == is_exact, scores


async def test_code_of_another_time_is_exact_where_it_holds_every_word(owner: Person) -> None:
    made = {}
    for name in ("paint", "write"):
        made[name] = await owner.call("create_entity", name=name, content=CODE[name], entity_type="pattern", sync=True)
    moment = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=made["paint"]["id"], content=CODE["merge"])
    await caught_up(owner)
    found = await owner.call("search", query="sort dates by key", as_of=moment)
    scores = {hit["name"]: hit["score"] for hit in found["results"]}
    assert scores["paint"] >= 0.9


async def test_what_is_linked_to_code_is_found_by_the_question_beside_its_days(owner: Person) -> None:
    code = await owner.call("create_entity", name="paint", content=CODE["paint"], entity_type="pattern", sync=True)
    link = [f"touches:{code['id']}"]
    await owner.call("create_entity", name="Beavers", content="They gnaw.", related_to=link, sync=True)
    for days in ("", " in May 2023", " in March 2019"):
        found = await owner.call("search", query=f"sort dates by key{days}")
        assert {hit["name"]: hit["score"] for hit in found["results"]}["Beavers"] >= 0.45


async def test_code_whose_name_has_no_words_is_as_exact_as_other_records(owner: Person) -> None:
    for name, content in (("To the", CODE["merge"]), ("Of it", "It is merged.")):
        await owner.call("create_entity", name=name, content=content, entity_type="pattern", sync=True)
    code, prose = [(await owner.call("search", query=name))["results"][0] for name in ("to the", "of it")]
    assert code["score"] > 0.998 < prose["score"]


async def test_pages_never_overlap_and_scores_fall(owner: Person) -> None:
    await store(owner)
    whole = await owner.call("search", query="we decided to keep connections", limit=5)
    pages = [
        await owner.call("search", query="we decided to keep connections", limit=2, offset=offset)
        for offset in (0, 2, 4)
    ]
    assert [hit["id"] for page in pages for hit in page["results"]] == [hit["id"] for hit in whole["results"]]
    scores = [hit["score"] for hit in whole["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert {page["total"] for page in pages} == {whole["total"]}
    assert [page["has_more"] for page in pages] == [whole["total"] > 2, whole["total"] > 4, False]


async def test_filters_restrict_what_is_found(owner: Person) -> None:
    ids = await store(owner)
    await owner.call("update_entity", entity_id=ids["Retry policy"], category="Net", languages=["Go"])
    await owner.app.indexer.applied_within(
        owner.organization_id, owner.app.ledger.feed.head(owner.organization_id).sequence, [ids["Retry policy"]], 20
    )
    assert set(await names(owner, "policy", types=["rule", "decision"])) == {
        "Deploy on Fridays",
        "Use SQLite for the ledger",
    }
    assert await names(owner, "policy", category="net") == ["Retry policy"]
    assert await names(owner, "policy", language="go") == ["Retry policy"]
    assert await names(owner, "policy", types=["document"]) == []
    assert await names(owner, "policy", include_graph=False) == []
    assert await names(owner, "policy", source="nowhere") == []
    assert await names(owner, "policy", since="2999-01-01") == []


async def test_tags_have_no_effect_on_ranking(owner: Person) -> None:
    said: dict[str, Any] = {"name": "Twin", "content": "The same words."}
    twins = [said, said | {"tags": ["zebra", "words"], "metadata": {"occurred_at": "2026-01-01"}}]
    made = await owner.call("bulk_create_entities", entities=twins, sync=True)
    for query in ("zebra", "zebra words", "the same words"):
        found = await owner.call("search", query=query, boost_recent=False, include_retrieval_diagnostics=True)
        scores = {hit["id"]: hit["score"] for hit in found["results"]}
        assert len({scores[entity["id"]] for entity in made["entities"]}) == 1, query
        lanes = [set(row["sources"]) for row in found["filters"]["graph_retrieval"]["ranking_trace"]]
        assert "lexical" not in lanes[0] or query != "zebra"


async def test_the_graph_brings_in_neighbours_unless_switched_off(owner: Person) -> None:
    ids = await store(owner)
    linked = await owner.call(
        "create_entity", name="Ticket", content="zzz", related_to=[f"about:{ids['Error E4711']}"], sync=True
    )
    found = await owner.call("search", query="E4711", include_retrieval_diagnostics=True)
    details = found["filters"]["graph_retrieval"]["source_details"]
    assert "graph" in details[linked["id"]]["sources"]
    plain = await owner.call("search", query="E4711", use_enhanced=False)
    assert "graph_retrieval" not in plain["filters"]


async def test_what_is_linked_to_the_answer_comes_before_what_is_only_like_the_question(owner: Person) -> None:
    asked = await owner.call("create_entity", name="src/store/cache.py", entity_type="artifact", sync=True)
    made = {
        (await owner.call("create_entity", name=name, entity_type="note", related_to=[f"touches:{asked['id']}"]))["id"]
        for name in ("Forget entries sooner", "Do not wait for the disk")
    }
    alike = await owner.call("create_entity", name="What changed in the canteen", entity_type="note", sync=True)
    question = "what changed in src/store/cache.py"
    found = {hit["id"]: hit["score"] for hit in (await owner.call("search", query=question))["results"]}
    assert next(iter(found)) == asked["id"]
    assert set(list(found)[1:3]) == made
    plain = await owner.call("search", query=question, use_enhanced=False)
    before = {hit["id"]: hit["score"] for hit in plain["results"]}
    assert all(before.get(each, 0.0) < before[alike["id"]] < found[each] < found[asked["id"]] for each in made)


async def test_what_is_filed_in_a_project_does_not_hide_the_answer_to_a_question_that_names_it(owner: Person) -> None:
    project = await owner.call("create_entity", name="Marlin billing service", entity_type="project", sync=True)
    for name in ("Fire drill date", "Gym discount", "New coffee machine", "Parking lot", "Badge colours"):
        await owner.call("create_entity", name=name, entity_type="note", metadata={"project_id": project["id"]})
    answer = await owner.call(
        "create_entity", name="Money letters go out twice", content="Invoices were duplicate.", sync=True
    )
    found = await owner.call("search", query="marlin billing service duplicate invoices")
    assert [hit["id"] for hit in found["results"]][:2] in ([project["id"], answer["id"]], [answer["id"], project["id"]])


async def test_what_was_superseded_leads_to_its_successor_and_to_nothing_else(owner: Person) -> None:
    old = await owner.call("create_entity", name="Quokka eviction schedule", entity_type="decision", sync=True)
    menu = await owner.call("create_entity", name="Lunch on Friday", related_to=[f"about:{old['id']}"], sync=True)
    new = await owner.call(
        "create_entity", name="Cache policy two", entity_type="decision", related_to=[f"supersedes:{old['id']}"],
        sync=True,
    )  # fmt: skip
    found = await owner.call("search", query="quokka eviction schedule")
    scores = {hit["id"]: hit["score"] for hit in found["results"]}
    assert old["id"] not in scores
    assert scores[new["id"]] > 0.5
    assert scores.get(menu["id"], 0.0) < 0.3


async def test_the_graph_brings_in_nothing_that_a_filter_leaves_out(owner: Person) -> None:
    ids = await store(owner)
    link = [f"about:{ids['Error E4711']}"]
    await owner.call("create_entity", name="Ticket", content="zzz", related_to=link, sync=True)
    assert await names(owner, "E4711", types=["error_pattern"]) == ["Error E4711"]
    assert "Ticket" in await names(owner, "E4711", types=["error_pattern", "episode"])


async def test_any_text_is_a_query(owner: Person) -> None:
    await store(owner)
    syntax = ["*", "?", '"', "a AND OR NOT", "name:x", "(((", "\\", "-minus", "(((\"'*:^~\\\\AND OR"]
    scripts = [
        "\U0001f600", "\u65e5\u672c\u8a9e\u306e\u691c\u7d22", "\xdf" * 3000, "\U0001f937\U0001f3fd\u200d\u2640\ufe0f",
        "a\u0300" * 500,
    ]  # fmt: skip
    for query in (*syntax, *scripts, " ", "\u200d", "\u202e\u200b\ufeff", "\U0010ffff\ue000"):
        found = await owner.call("search", query=query)
        assert found["query"] == query
        assert not found["filters"]["search_source_degraded"], query


async def test_content_is_cut_or_left_out_as_asked(owner: Person) -> None:
    await store(owner)
    cut = await owner.call("search", query="E4711", content_max_chars=9)
    assert cut["results"][0]["content"] == "The build"
    for fields in ({"include_content": False}, {"content_max_chars": 0}):
        (none, *_) = (await owner.call("search", query="E4711", **fields))["results"]
        assert none["content"] == ""
        assert "text" not in none["metadata"]["passage"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"query": ""}, ValidationFailed),
        ({"query": "a", "limit": 0}, ValidationFailed),
        ({"query": "a", "limit": 51}, ValidationFailed),
        ({"query": "a", "content_max_chars": 50_001}, ValidationFailed),
        ({"query": "a", "types": ["nonsense"]}, ValidationFailed),
        ({"query": "a", "since": "soon"}, ValidationFailed),
        ({"query": "a", "as_of": "soon"}, ValidationFailed),
        ({"query": "a", "reference_time": "soon"}, ValidationFailed),
        ({"query": "a", "memory_scope": "everyone"}, ValidationFailed),
        ({"query": "a", "memory_scope": "team"}, InvalidRequest),
        ({"query": "a", "occurred_after": "soon"}, ValidationFailed),
        ({"query": "a", "memory_scope": "public"}, Forbidden),
        ({"query": "a", "memory_scope": "project"}, InvalidRequest),
        ({"query": "a", "memory_scope": "project", "scope_key": "nowhere"}, NotFound),
        ({"query": "a", "memory_scope": "team", "scope_key": "nowhere"}, Forbidden),
        ({"query": "a", "types": ["raw_memory"], "since": "garbage"}, ValidationFailed),
        ({"query": "a", "source": "nope", "as_of": "garbage"}, ValidationFailed),
    ],
)
async def test_every_field_is_validated(owner: Person, fields: dict[str, Any], error: type[Exception]) -> None:
    await owner.refused("search", error, **fields)


async def test_a_document_is_found_by_a_marker_at_its_end_and_read_around(owner: Person) -> None:
    text = (
        "# Handbook\n\n" + "Plain words about nothing in particular. " * 2500 + "\n\n## End\n\nThe xylophone procedure."
    )
    made = await owner.call(
        "ingest_documents", source_name="Docs", documents=[{"url": "docs/handbook.md", "content": text}], sync=True
    )
    found = await owner.call("search", query="xylophone procedure")
    hit = found["results"][0]
    assert (hit["type"], hit["result_origin"], hit["source"], hit["url"]) == (
        "document", "document", "Docs", "docs/handbook.md",
    )  # fmt: skip
    assert hit["metadata"]["heading_path"] == ["Handbook", "End"]
    assert found["document_count"] > 0
    (shown, *_) = for_agents((await owner.run("search", query="xylophone procedure")).result)["results"]
    assert (shown["name"], shown["content"]) == ("Handbook > End", "The xylophone procedure.")
    chunk = await owner.call("get_entity", entity_id=hit["id"])
    assert chunk["description"] == "Handbook > End"
    assert chunk["metadata"]["result_origin"] == "document"
    around = await owner.call("fetch_slice", entity_id=hit["id"], window=1)
    assert [piece["id"] for piece in around["pieces"]][-1] == hit["id"]
    assert len(around["pieces"]) == 2
    assert (await owner.call("list_entities"))["total"] == 1 + made["chunk_count"]
    again = await owner.call(
        "ingest_documents", source_id=made["source_id"], documents=[{"url": "docs/handbook.md", "content": text}]
    )
    assert (again["skipped"], again["chunk_count"]) == (1, 0)


async def test_a_revision_that_was_private_stays_its_authors(owner: Person, member: Person) -> None:
    private = {"memory_scope": "private"}
    made = await owner.call("create_entity", name="zorkquux", content="secret", metadata=private, sync=True)
    then = owner.app.clock().isoformat()
    open_ = {"memory_scope": "organization"}
    await owner.call("update_entity", entity_id=made["id"], content="public zorkquux", metadata=open_)
    head = owner.app.ledger.feed.head(owner.organization_id).sequence
    await owner.app.indexer.applied_within(owner.organization_id, head, [made["id"]], 20)
    assert await names(member, "zorkquux") == ["zorkquux"]
    assert await names(member, "zorkquux", as_of=then) == []
    past = await owner.call("search", query="zorkquux", as_of=then)
    assert past["results"][0]["content"] == "secret"


async def test_a_hit_of_words_alone_names_the_passage_that_holds_them(owner: Person) -> None:
    long = "Plain words about nothing in particular. " * 1200
    far = await owner.call("create_entity", name="Tower", content=f"{long}\n\nZibbelquam keeps the lamp.", sync=True)
    for start in range(0, LANE_DEPTH + 60, 120):
        herons = [{"name": f"Heron {start + number}", "content": "A heron stands."} for number in range(120)]
        await owner.call("bulk_create_entities", entities=herons, sync=True)
    hit = (await owner.call("search", query="Zibbelquam keeps a heron", content_max_chars=50_000))["results"][0]
    assert (hit["id"], hit["metadata"]["retrieval_signals"]) == (far["id"], ["lexical"])
    passage = hit["metadata"]["passage"]
    whole = f"{hit['name']}\n{long}\n\nZibbelquam keeps the lamp."
    best = whole[passage["start"] : passage["end"]]
    assert "Zibbelquam keeps the lamp." in best
    assert best.startswith(passage["text"])
    assert passage["end"] - passage["start"] < 3_000


async def test_what_was_remembered_is_retrieved_once(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory and the entity made of it are copies: the second retrieval of every search took half of its time."""
    for number in range(12):
        await owner.call("remember", title=f"Boiler {number}", content=f"Boiler {number} is serviced in May.")
    await caught_up(owner)
    plans: list[Plan] = []
    monkeypatch.setattr("tools.search.answers.retrieve", lambda app, plan: (plans.append(plan), retrieve(app, plan))[1])
    found = await owner.call("search", query="When is the boiler serviced?")
    assert (len(found["results"]), len(plans)) == (10, 1)


async def test_copies_take_one_place_and_pages_never_overlap(owner: Person) -> None:
    said = {"name": "Spare key", "content": "The spare key hangs behind the boiler."}
    copies = [said] * 4 + [{"name": f"Key {number}", "content": f"Key {number} of the boiler."} for number in range(4)]
    made = await owner.call("bulk_create_entities", entities=copies, sync=True)
    ids = [each["id"] for each in made["entities"]]
    known = await owner.call("remember", title="Boiler", content="A key of the boiler is lost.")
    await caught_up(owner)
    pages = [await owner.call("search", query="key of the boiler", limit=2, offset=at) for at in (0, 2, 4, 6)]
    shown = [hit for page in pages for hit in page["results"]]
    found = {hit["id"] for hit in shown}
    assert len(shown) == len(found) == 6
    assert found - {*ids[:4]} == {*ids[4:], known["id"]}
    others = {hit["id"]: {*hit["metadata"].get("also_stored_as", ())} for hit in shown}
    [key] = found & {*ids[:4]}
    assert others[key] == {*ids[:4]} - {key}
    assert others[known["id"]] == {known["raw_memory_id"]}
    assert (pages[3]["total"], pages[3]["raw_memory_count"], pages[2]["has_more"]) == (6, 0, False)
    [alone] = (await owner.call("search", query="lost key of the boiler", types=["raw_memory"]))["results"]
    assert alone["id"] == known["raw_memory_id"]
    newest = await owner.call("store_raw_memory", title="Boiler", raw_content="A key of the boiler is lost.", sync=True)
    [memory] = (await owner.call("recall", query="lost key of the boiler", limit=1))["memories"]
    assert (memory["id"], memory["also_stored_as"]) == (newest["id"], [known["raw_memory_id"]])
    await owner.call(
        "update_entity", entity_id=known["id"], name="Key", content="A key of the boiler is found.", sync=True
    )
    found = (await owner.call("search", query="lost key of the boiler", types=["episode", "raw_memory"]))["results"]
    assert found[0]["metadata"]["also_stored_as"] == [newest["id"], known["raw_memory_id"]]
    assert (found[0]["id"], known["raw_memory_id"] in [each["id"] for each in found]) == (known["id"], False)


async def test_the_excerpt_of_a_hit_is_what_matched(owner: Person) -> None:
    bakery = "The bakery opens at seven and sells rye bread, rolls and cakes to the whole street. " * 8
    key = "The spare key hangs behind the boiler."
    others = [f"{bakery} {key}", f"{bakery * 20} {key} {bakery * 20}"]
    for number, content in enumerate(others):
        await owner.call("create_entity", name=f"Shop {number}", content=content, sync=True)
        await owner.call("store_raw_memory", title=f"Said {number}", raw_content=content, sync=True)
    found = await owner.call("search", query="where does the spare key hang?", limit=10)
    assert all(key in hit["metadata"]["passage"]["text"][:100] for hit in found["results"])
    assert len(found["results"]) >= len(others)
    recalled = (await owner.call("recall", query="where does the spare key hang?"))["memories"]
    assert [key in memory["passage"]["text"][:100] for memory in recalled] == [True, True]
    titled = {"name": "Spare boat", "content": f"{bakery} The spare boat lies under the bridge. {bakery}"}
    keyed = {"name": "Timeout is 3", "content": "Timeout is 30 s.", "metadata": {"retrieval_keys": ["Timeout was 9 s"]}}
    await owner.call("bulk_create_entities", entities=[titled, keyed], sync=True)
    for query, said in (("where is the spare boat?", "The spare boat lies"), ("Timeout is 30 s", "Timeout is 30 s.")):
        shown = for_agents((await owner.run("search", query=query)).result)["results"][0]["content"]
        assert shown.startswith(said)
        assert "was 9" not in shown


async def test_search_filters_by_tags_even_with_a_comma(owner: Person) -> None:
    await owner.call("create_entity", name="Tea", content="Green tea.", tags=["risk, high", "ops"], sync=True)
    await owner.call("create_entity", name="Pot", content="A tea pot.", tags=["Ops"], sync=True)
    await owner.call("store_raw_memory", title="Said", raw_content="Tea at five.", tags=["ops"], sync=True)
    for tags, wanted in ((["risk, high"], {"Tea"}), (["OPS"], {"Tea", "Pot", "Said"}), (["risk"], set()), ([], None)):
        found = await owner.call("search", query="tea", tags=tags)
        assert wanted in ({hit["name"] for hit in found["results"]}, None), tags
    listed = await owner.call("explore", mode="list", tags="risk, high")
    assert [each["name"] for each in listed["entities"]] == ["Tea"]


async def test_several_statuses_are_one_filter_however_they_are_sent(owner: Person) -> None:
    for status in ("doing", "done", "todo"):
        made = {"name": f"Paint {status}", "entity_type": "task", "metadata": {"status": status}}
        await owner.call("create_entity", **made, sync=True)
    for given in ("Doing, done", ["doing", "done"], '["doing", "done"]'):
        assert {*await names(owner, "paint", status=given)} == {"Paint doing", "Paint done"}
        listed = await owner.call("explore", types=["task"], status=given)
        assert {each["name"] for each in listed["entities"]} == {"Paint doing", "Paint done"}


async def test_search_tells_how_many_of_the_readable_records_are_still_being_read(
    owner: Person, member: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await owner.call("search", query="tea")
    with monkeypatch.context() as patch:
        gate = threading.Event()
        whole = owner.app.embedder.embed_documents  # type: ignore[union-attr]
        patch.setattr(owner.app.embedder, "embed_documents", lambda texts: gate.wait(30) and whole(texts))
        texts = [{"name": f"Note {number}", "content": f"Unheard {number}"} for number in range(12)]
        await owner.call("bulk_create_entities", entities=texts)
        hidden = [each | {"metadata": {"memory_scope": "private"}} for each in texts[:5]]
        await member.call("bulk_create_entities", entities=hidden)
        told = [(await who.call("search", query="later"))["filters"].get("pending_records") for who in (owner, member)]
        packs = [await who.call("context", goal="unheard") for who in (owner, member)]
        recalled = await member.call("recall", query="unheard")
        gate.set()
        assert told == [pack["pending_records"] for pack in packs] == [12, 17]
        assert "not searchable yet: 17." in packs[1]["markdown"]
        assert recalled["pending_records"] == 0
    await caught_up(owner)
    assert "pending_records" not in (await owner.call("search", query="unheard"))["filters"]
