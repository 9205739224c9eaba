"""What was returned is recorded beside the answer; what is cited counts, ranks higher, and tells nobody more."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stores.embedding import Embedder
from stores.errors import Forbidden, ValidationFailed
from stores.exposures import OPTIONS, Exposures, Shown
from stores.ledger import AuditQuery
from stores.records import IndexFilter
from tests.people import Person, person
from tools.app import App, open_app
from tools.frame.operation import Call
from tools.frame.threads import in_thread
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import Plan
from tools.retrieval.scoring import USAGE_BONUS, lifted
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings
from tools.search.exposure import ExcludedResponse, exposed

pytestmark = pytest.mark.anyio

NOBODYS = "note_000000000000"
QUERY = "how the heron nests near water"


async def notes(author: Person, count: int = 2, **metadata: Any) -> list[str]:
    same = {"name": "Heron", "content": "The heron builds its nest by the river.", "entity_type": "note"}
    # At different times, else they are copies of one record.
    entities = [{**same, "metadata": {"occurred_at": f"2026-01-0{day}", **metadata}} for day in range(1, count + 1)]
    made = await author.call("bulk_create_entities", entities=entities, sync=True)
    return sorted(entity["id"] for entity in made["entities"])


async def ranked(reader: Person, query: str = QUERY, **fields: Any) -> dict[str, float]:
    found = await reader.call("search", query=query, boost_recent=False, record_exposure=False, **fields)
    return {hit["id"]: hit["score"] for hit in found["results"]}


async def recorded(app: App, person: Person) -> list[tuple[str, str]]:
    await in_thread(app.exposures.flush)
    statement = "SELECT signal, surface FROM exposures WHERE organization_id = ? ORDER BY ALL"
    with duckdb.connect(str(app.folder.path / "analytics.duckdb"), config=OPTIONS) as connection:
        return connection.execute(statement, [person.organization_id]).fetchall()


async def test_a_search_says_what_it_records_and_can_be_told_not_to(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    found = await owner.call("search", query=QUERY)
    usage = found["filters"]["usage_exposure"]
    assert usage == {
        "source_surface": "search", "signal_type": "exposure", "session_key": usage["session_key"],
        "message_key": usage["message_key"], "returned_count": 2, "stamped_count": 2, "excluded_count": 0,
        "coverage_count": 2, "coverage_complete": True, "exclusions": [],
    }  # fmt: skip
    for hit in found["results"]:
        assert (hit["metadata"]["cite_id"], hit["metadata"]["usage_exposure"]) == (hit["id"], {"status": "stamped"})
    assert "exposure" in found["filters"]["stage_timings_ms"]
    nothing = await owner.call("search", query=QUERY, types=["rule"])
    assert nothing["filters"]["usage_exposure"] == {}
    silent = await owner.call("search", query=QUERY, record_exposure=False)
    assert "usage_exposure" not in silent["filters"]
    assert {hit["id"] for hit in silent["results"]} == {first, second}
    assert all("usage_exposure" not in hit["metadata"] for hit in silent["results"])
    assert await recorded(app, owner) == [("exposure", "search")] * 2


async def test_what_is_recorded_has_places_and_keys_and_no_text(settings: Settings, embedder: Embedder) -> None:
    async with open_app(settings, logs=LogRing(), embedder=embedder) as app:
        ann = await person(app, "ann")
        await notes(ann, 3)
        [private] = await notes(ann, 1, memory_scope="private")
        page = await ann.call("search", query=QUERY, limit=2, offset=1)
        ids = [hit["id"] for hit in page["results"]]
        await ann.call("cite", cited_ids=[private], surface="search")
        user, organization = ann.user_id, ann.organization_id
    file = settings.data_dir / "analytics.duckdb"
    with duckdb.connect(str(file)) as connection:
        rows = connection.execute(
            "SELECT record_id, rank, signal, surface, user_id, organization_id FROM exposures ORDER BY rank NULLS LAST"
        ).fetchall()
        keys = dict(connection.execute("SELECT record_id, visibility FROM exposures").fetchall())
    common = ("search", user, organization)
    assert rows == [
        (ids[0], 2, "exposure", *common), (ids[1], 3, "exposure", *common), (private, None, "citation", *common),
    ]  # fmt: skip
    assert keys[private] == f"private:{user}"
    assert not any(word in file.read_bytes() for word in (b"heron", b"Heron", b"river"))


async def test_nothing_is_recorded_where_the_operator_says_so(tmp_path: Path, embedder: Embedder) -> None:
    quiet = Settings(data_dir=tmp_path / "quiet", exposure_days=0)
    async with open_app(quiet, logs=LogRing(), embedder=embedder) as app:
        ann = await person(app, "ann")
        first, _ = await notes(ann)
        assert (await ann.call("search", query=QUERY))["filters"]["usage_exposure"] == {}
        assert (await ann.call("cite", cited_ids=[first]))["counted_ids"] == [first]
    assert not (quiet.data_dir / "analytics.duckdb").exists()


async def test_a_full_queue_costs_the_record_and_not_the_answer(app: App, owner: Person) -> None:
    ids = await notes(owner)
    small = Exposures(app.ledger, app.folder.path / "small.duckdb", app.clock, keep=timedelta(days=1), most=1)
    cramped = replace(owner, app=replace(app, exposures=small))
    await cramped.call("search", query=QUERY)  # The only place in the queue.
    found = await cramped.call("search", query=QUERY)
    usage = found["filters"]["usage_exposure"]
    assert (usage["stamped_count"], usage["excluded_count"], usage["coverage_complete"]) == (0, 2, True)
    assert {each["response_id"]: each["reason"] for each in usage["exclusions"]} == dict.fromkeys(ids, "queue_full")
    assert found["results"][0]["metadata"]["usage_exposure"] == {"status": "excluded", "reason": "queue_full"}
    assert small.dropped == 2


async def test_what_stands_in_an_answer_twice_is_recorded_once(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    principal = await in_thread(app.accounts.authenticate, owner.token)
    places = [Shown(each, "organization", rank, 0.5) for rank, each in enumerate((first, second, first), start=1)]
    usage = exposed(app, Call(principal), "context", places)
    assert usage is not None
    assert (usage.returned_count, usage.stamped_count) == (3, 2)
    assert usage.exclusions == [ExcludedResponse(response_id=first, reason="duplicate")]
    assert await recorded(app, owner) == [("exposure", "context")] * 2
    assert exposed(app, Call(principal), "recall", []) is None


async def test_citing_counts_once_in_a_session_and_says_what_counted(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    found = await owner.call("search", query=QUERY)
    session = found["filters"]["usage_exposure"]["session_key"]
    said = await owner.call("cite", cited_ids=[second, NOBODYS, second, first], surface="search")
    assert said == {
        "signal_type": "citation", "source_surface": "search", "session_key": session, "counted_ids": [second, first],
        "replayed_ids": [], "unknown_ids": [NOBODYS],
    }  # fmt: skip
    again = await owner.call("cite", cited_ids=[first], session_key=session)
    assert (again["counted_ids"], again["replayed_ids"]) == ([], [first])
    other = await owner.call("cite", cited_ids=[first], session_key="run-7")
    assert other["counted_ids"] == [first]
    assert "run-7" not in other["session_key"]
    assert (await owner.call("cite", cited_ids=[first], session_key="run-7"))["replayed_ids"] == [first]
    assert (await recorded(app, owner)).count(("exposure", "search")) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"cited_ids": []}, {"cited_ids": ["x"] * 101}, {"cited_ids": [""]}, {"cited_ids": ["x"], "surface": "chat"},
        {"cited_ids": ["x"], "session_key": "what we said about Bob"},
    ],
)  # fmt: skip
async def test_what_cannot_be_cited_is_refused(owner: Person, fields: dict[str, Any]) -> None:
    await owner.refused("cite", ValidationFailed, **fields)


async def test_viewers_cite_only_what_they_may_read(owner: Person, viewer: Person, stranger: Person) -> None:
    [open_note] = await notes(owner, 1)
    [private] = await notes(owner, 1, memory_scope="private")
    for reader, counted in ((viewer, [open_note]), (stranger, [])):
        said = await reader.call("cite", cited_ids=[open_note, private, NOBODYS])
        assert said["counted_ids"] == counted
        assert said["unknown_ids"] == [each for each in (open_note, private, NOBODYS) if each not in counted]
    assert (await owner.call("cite", cited_ids=[private]))["counted_ids"] == [private]


async def test_a_key_that_reads_does_not_cite_and_a_narrowed_one_cites_in_its_project(app: App, owner: Person) -> None:
    project = (await owner.call("create_entity", name="P", entity_type="project"))["id"]
    [inside] = await notes(owner, 1, project_id=project)
    [outside] = await notes(owner, 1)
    reading = (await owner.call("create_api_key", name="r", scopes=["api:read"]))["api_key"]
    with pytest.raises(Forbidden, match="insufficient_api_scope"):
        await replace(owner, signed=replace(owner.signed, access_token=reading)).call("cite", cited_ids=[outside])
    made = await owner.call("create_api_key", name="n", scopes=["api:write"], project_ids=[project])
    narrowed = replace(owner, signed=replace(owner.signed, access_token=made["api_key"]))
    said = await narrowed.call("cite", cited_ids=[inside, outside])
    assert (said["counted_ids"], said["unknown_ids"]) == ([inside], [outside])


async def test_a_cited_record_comes_before_its_twin(owner: Person, member: Person) -> None:
    first, second = await notes(owner)
    before = await ranked(member)
    assert list(before) == [first, second]
    await owner.call("cite", cited_ids=[second])
    after = await ranked(member)
    assert list(after) == [second, first]
    assert after[first] == before[first]
    assert before[second] < after[second] <= lifted(before[second], USAGE_BONUS / 3)


async def test_one_agent_in_a_loop_gains_a_third_of_the_bonus_and_many_users_more(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    plain = (await ranked(owner))[second]
    for number in range(60):
        await owner.call("cite", cited_ids=[second], session_key=f"loop-{number}")
    alone = (await ranked(owner))[second]
    assert alone <= lifted(plain, USAGE_BONUS / 3) + 1e-6
    for number in range(4):
        await (await person(app, f"m{number}", of=owner, role="viewer")).call("cite", cited_ids=[first, second])
    assert alone < (await ranked(owner))[second] < lifted(plain, USAGE_BONUS)


async def test_the_usage_signal_can_be_switched_off_and_spares_the_past(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    await owner.call("cite", cited_ids=[second])
    off = replace(owner, app=replace(app, settings=app.settings.model_copy(update={"usage_signal": False})))
    assert list(await ranked(off)) == [first, second]
    assert list(await ranked(owner, as_of="2999-01-01")) == [first, second]
    shown = IndexFilter(visibility=frozenset({"organization"}))
    plan = Plan(owner.organization_id, QUERY, shown, app.clock(), wanted=2, boost_recent=False)
    assert [each.id for each in (await in_thread(retrieve, app, plan)).best] == [first, second]
    asked = replace(plan, boost_cited=True)
    assert [each.id for each in (await in_thread(retrieve, app, asked)).best] == [second, first]
    naive = [
        (await in_thread(retrieve, app, replace(plan, mode="naive", boost_cited=boosted))).best
        for boosted in (False, True)
    ]
    assert naive[0] == naive[1]


async def test_diagnostics_show_the_share(owner: Person) -> None:
    first, second = await notes(owner)
    await owner.call("cite", cited_ids=[second])
    found = await owner.call("search", query=QUERY, include_retrieval_diagnostics=True)
    details = found["filters"]["graph_retrieval"]["source_details"]
    assert details[first]["usage_share"] == 0.0
    assert 0 < details[second]["usage_share"] < USAGE_BONUS


async def test_who_could_not_see_what_was_cited_does_not_feel_it_later(owner: Person, member: Person) -> None:
    first, second = await notes(owner, 2, memory_scope="private")
    await owner.call("cite", cited_ids=[second])
    assert list(await ranked(owner)) == [second, first]
    for each in (first, second):
        await owner.call("update_entity", entity_id=each, metadata={"memory_scope": "organization"})
    app = owner.app
    head = app.ledger.feed.head(owner.organization_id).sequence
    assert await app.indexer.applied_within(owner.organization_id, head, [first, second], 20) == []
    assert list(await ranked(member)) == [first, second]
    assert list(await ranked(owner)) == [second, first]


async def test_a_citation_that_was_acknowledged_counts_after_a_restart(settings: Settings, embedder: Embedder) -> None:
    async with open_app(settings, logs=LogRing(), embedder=embedder) as app:
        ann = await person(app, "ann")
        first, second = await notes(ann)
        await ann.call("cite", cited_ids=[second])
    async with open_app(settings, logs=LogRing(), embedder=embedder) as app:
        again = replace(ann, app=app)
        assert list(await ranked(again)) == [second, first]
        assert (await again.call("cite", cited_ids=[second]))["replayed_ids"] == [second]


async def test_an_erased_record_leaves_no_row_and_no_weight(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    await owner.call("search", query=QUERY)
    await owner.call("cite", cited_ids=[first, second])
    await in_thread(app.exposures.flush)
    await owner.call("delete_entity", entity_id=second)
    await in_thread(app.exposures.prune)
    assert {each.record_id for each in app.ledger.memories.citations(owner.organization_id, [first, second])} == {first}
    assert (await recorded(app, owner)).count(("exposure", "search")) == 1


async def test_what_helped_with_a_task_counts_as_cited_when_it_is_done(app: App, owner: Person) -> None:
    first, second = await notes(owner)
    project = await owner.call("create_entity", name="P", entity_type="project")
    task = (await owner.call("create_task", title="Nest boxes", project_id=project["id"]))["task_id"]
    await owner.call("complete_task", task_id=task, cited_ids=[second, second])
    assert list(await ranked(owner, types=["note"])) == [second, first]
    assert [each.record_id for each in app.ledger.memories.citations(owner.organization_id, [first, second])] == [
        second
    ]
    assert (await owner.call("cite", cited_ids=[second]))["replayed_ids"] == [second]


async def test_the_audit_log_names_what_its_readers_may_read(app: App, owner: Person, member: Person) -> None:
    [open_note] = await notes(owner, 1)
    [private] = await notes(member, 1, memory_scope="private")
    await member.call("cite", cited_ids=[private])
    await member.call("cite", cited_ids=[open_note, private], session_key="s2", surface="context")
    entries = app.ledger.audit.entries(AuditQuery(owner.organization_id, action="memory.cite"))
    assert [(entry.draft.actor_id, entry.draft.details) for entry in entries] == [
        (member.user_id, {"source_surface": "context", "source_ids": [open_note]})
    ]
    listed = await owner.call("read_audit", action="memory.")
    assert [each["user"]["id"] for each in listed["entries"]] == [member.user_id]
