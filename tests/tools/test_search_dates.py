"""Questions that name days find first what tells of them."""

from functools import partial
from typing import Any

import pytest

from tests.people import Person, caught_up
from tools.retrieval.plan import Plan
from tools.search import search

pytestmark = pytest.mark.anyio

TEXT = "We painted the fence at the harbour."


async def keep(who: Person, number: int, **metadata: Any) -> str:
    said = await who.call("store_raw_memory", raw_content=f"{TEXT} ({number})", metadata=metadata, sync=True)
    return str(said["id"])


async def note(who: Person, name: str, content: str) -> str:
    made = await who.call("create_entity", name=name, content=content, entity_type="note", sync=True)
    return str(made["id"])


async def scores(who: Person, query: str) -> dict[str, float]:
    answer = await who.call("recall", query=query)
    return {each["id"]: each["score"] for each in answer["memories"]}


async def test_a_memory_of_the_named_days_comes_first(member: Person) -> None:
    march = await keep(member, 1, captured_at="2023-03-04T10:00:00Z")
    may = await keep(member, 2, captured_at="2023-05-06T10:00:00Z")
    told = await keep(member, 3, captured_at="2024-01-01T10:00:00Z", occurred_at="2023-05-20T10:00:00Z")
    kept = await keep(member, 4)
    await caught_up(member)
    plain = await scores(member, "Who painted the harbour fence and a wall?")
    dated = await scores(member, "Who painted the harbour fence and a wall in May 2023?")
    assert set(list(dated)[:2]) == {may, told}
    assert min(dated[may], dated[told]) > max(dated[march], dated[kept]) + 0.02
    # What was kept without a time of its own is the most recent; of the others no one is for that.
    assert plain[kept] == max(plain.values())
    assert max(plain[each] for each in (march, may, told)) - min(plain.values()) < 0.02
    assert max(dated.values()) < 1


async def test_a_memory_of_a_month_is_of_each_of_its_days(member: Person) -> None:
    june = await keep(member, 1, captured_at="2023-06")
    may = await keep(member, 2, captured_at="2024-01-01", occurred_at="2023-05")
    ago = await keep(member, 3, captured_at="1d", occurred_at="long ago")
    await caught_up(member)
    asked = "Who painted the harbour fence and a wall"
    assert next(iter(await scores(member, f"{asked} on 9 May 2023?"))) == may
    assert next(iter(await scores(member, f"{asked} on 30 June 2023?"))) == june
    assert next(iter(await scores(member, f"{asked} between 12 and 14 May 2023?"))) == may
    assert next(iter(await scores(member, f"{asked} yesterday?"))) == ago


async def test_days_are_counted_from_the_time_of_the_question(member: Person) -> None:
    old = await keep(member, 1, captured_at="2023-05-06T10:00:00Z")
    new = await keep(member, 2)
    await caught_up(member)

    async def order(**options: Any) -> list[str]:
        question = "Who painted the harbour fence and a wall yesterday?"
        answer = await member.call("search", query=question, types=["raw_memory"], boost_recent=False, **options)
        return [each["id"] for each in answer["results"]]

    assert await order() == [new, old]
    assert await order(reference_time="2023-05-07T20:00:00Z") == [old, new]


async def test_entities_count_by_when_they_were_kept_and_off_topic_stays_low(member: Person) -> None:
    await member.call("create_entity", name="Fence", content=TEXT, sync=True)
    asked = "Who painted the harbour fence and a wall"
    (today,) = (await member.call("search", query=f"{asked} today?", boost_recent=False))["results"]
    (plain,) = (await member.call("search", query=f"{asked} in May 1999?", boost_recent=False))["results"]
    assert today["score"] > plain["score"]
    far = await member.call("search", query="Which proteins fold today?", boost_recent=False)
    assert all(each["score"] < 0.3 for each in far["results"])


async def test_a_fact_that_was_true_in_the_named_days_leads_to_what_it_told_of(owner: Person) -> None:
    payments, then, now = [
        await note(owner, name, f"{name} leads a group of engineers.")
        for name in ("Payments", "Mira Vance", "Tomas Brandt")
    ]
    began, changed = "2022-01-01", "2023-06-01"
    for person, times in ((then, {"valid_at": began, "invalid_at": changed}), (now, {"valid_at": changed})):
        await owner.call("add_relation", source_id=person, name="owns", target_id=payments, sync=True, **times)
    await caught_up(owner)

    async def led(question: str) -> tuple[set[str], dict[str, float]]:
        answer = await owner.call(
            "search", query=question, types=["note"], boost_recent=False, include_retrieval_diagnostics=True
        )
        details = answer["filters"]["graph_retrieval"]["source_details"]
        by_graph = {each for each, told in details.items() if "graph" in told["ranks"]}
        return by_graph & {then, now}, {each["id"]: each["score"] for each in answer["results"]}

    found, plain = await led("Who leads Payments?")
    assert found == {now}
    found, dated = await led("Who leads Payments in March 2022?")
    assert found == {then, now}
    assert dated[then] - dated[now] > plain[then] - plain[now] + 0.01
    assert (await led("Who leads Payments in March 2021?"))[0] == {now}
    assert (await led("Who leads Payments since July 2023?"))[0] == {now}


async def test_what_was_true_in_the_named_days_comes_before_what_is_true_now(owner: Person) -> None:
    harbour = await note(owner, "Harbour ledger", "The service that keeps the books of the harbour.")
    then, now, guide = [await note(owner, name, name) for name in ("Mira Vance", "Tomas Brandt", "Ivo Lind")]
    facts = [
        (then, "owns", {"valid_at": "2021-01-01", "invalid_at": "2023-06-01"}),
        (now, "owns", {"valid_at": "2023-06-01"}),
        (guide, "about", {"valid_at": "2023-06-01"}),
    ]
    for source, name, times in facts:
        await owner.call("add_relation", source_id=source, name=name, target_id=harbour, sync=True, **times)
    await caught_up(owner)

    async def led(days: str) -> dict[str, float]:
        asked = f"The service that keeps the books, harbour ledger{days}"
        answer = await owner.call("search", query=asked, types=["note"], boost_recent=False)
        return {each["id"]: each["score"] for each in answer["results"]}

    dated, plain, before = await led(" in March 2022"), await led(""), await led(" in March 2020")
    assert dated[then] > dated[now] + 0.1
    # Relations of another name are of no other time for that, and where nothing is known of then, what is now counts.
    assert dated[guide] > dated[now] + 0.1
    assert min(plain[now], before[now]) > dated[now] + 0.1


async def test_a_date_takes_no_certainty_from_what_a_relation_leads_to(owner: Person) -> None:
    quay = await note(owner, "Quay", "The ledger of the quay.")
    keeper = await note(owner, "Mira Vance", "Mira Vance")
    await owner.call("add_relation", source_id=keeper, name="owns", target_id=quay, sync=True, valid_at="2021-01-01")
    await caught_up(owner)

    async def led(question: str) -> float:
        answer = await owner.call("search", query=question, types=["note"], boost_recent=False)
        return next(float(each["score"]) for each in answer["results"] if each["id"] == keeper)

    plain = await led("the ledger of the quay")
    assert await led("the ledger of the quay on 3 March 2022") > plain - 0.05
    assert (await led("Quay on 3 March 2022")) > (await led("Quay")) - 0.05
    # One word alone is in anything: days are left out only of what says more.
    assert await led("the ledger on 3 March 2022") < plain - 0.05


async def test_a_name_of_stop_words_is_a_name_beside_days_as_well(owner: Person) -> None:
    band, mira = await note(owner, "The Who", "A band."), await note(owner, "Mira Vance", "Sings.")
    await owner.call("add_relation", source_id=mira, name="about", target_id=band, sync=True)
    await caught_up(owner)
    found = await owner.call("search", query="The Who today", types=["note"])
    assert {each["id"] for each in found["results"]} == {band, mira}


async def test_alike_memories_are_told_apart_by_their_days(member: Person) -> None:
    for day in range(1, 29):
        await keep(member, day, occurred_at=f"2023-05-{day:02}")
    await keep(member, 30, occurred_at="2023-07-30")
    await caught_up(member)

    async def first(query: str, count: int) -> list[int]:
        answer = await member.call("search", query=query, types=["raw_memory"], limit=count)
        return [int(each["content"].rsplit("(")[1].rstrip(")")) for each in answer["results"]]

    assert await first("Which fence did we paint on 17 May 2023?", 1) == [17]
    assert await first("fence 2023-05-09", 1) == [9]
    assert set(await first("Who was there between 3 and 6 May 2023?", 4)) == {3, 4, 5, 6}
    assert await first("July 2023", 1) == [30]
    assert set(await first("1 May 2023", 8)) == {*range(1, 9)}, "that day, and a week in which it may be told of"


async def test_what_no_lane_finds_is_brought_in_by_its_day(member: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "Plan", partial(Plan, depth=2))
    for number in range(12):
        await keep(member, number, occurred_at="2022-01-01")
    other = await member.call(
        "store_raw_memory", raw_content="Nobody came.", metadata={"occurred_at": "2023-05-17"}, sync=True
    )
    await caught_up(member)
    found = await member.call("search", query="Which fence did we paint on 17 May 2023?", types=["raw_memory"])
    assert other["id"] in {each["id"] for each in found["results"]}
    hit = next(each for each in found["results"] if each["id"] == other["id"])
    assert hit["metadata"]["retrieval_signals"]


async def test_a_text_that_says_its_day_needs_no_help(member: Person) -> None:
    says = await member.call("store_raw_memory", raw_content=f"{TEXT} 17 May 2023", sync=True)
    is_of = await keep(member, 1, occurred_at="2023-05-17")
    await caught_up(member)
    found = await scores(member, "Who painted the harbour fence on 17 May 2023?")
    assert found[says["id"]] == pytest.approx(found[is_of], abs=0.1)


async def test_days_make_no_answer_of_what_is_about_something_else(member: Person) -> None:
    for day in range(1, 29):
        await keep(member, day, occurred_at=f"2023-05-{day:02}")
    await caught_up(member)
    for query in ("photosynthesis of purple bacteria in May 2023", "How do quarks bind, 17 May 2023?"):
        assert max((await scores(member, query)).values()) < 0.3, query


async def test_days_bring_in_nothing_of_others(member: Person, owner: Person) -> None:
    mine = await keep(member, 1, occurred_at="2023-05-17")
    theirs = await keep(owner, 2, occurred_at="2023-05-17")
    await caught_up(member)
    assert set(await scores(member, "May 2023")) == {mine}
    assert set(await scores(owner, "May 2023")) == {theirs}
