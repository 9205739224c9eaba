"""What was said next to a memory counts for it: never of what the caller may not read, or what is no longer so."""

from pathlib import Path
from typing import Any

import pytest

from tests.people import Person, caught_up, tokens_made
from tools.app import App
from tools.memory.memories import DEPTH
from tools.runtime.settings import Settings

pytestmark = pytest.mark.anyio

QUESTION, ANSWER = "Where did the walrus spend the holiday?", "Lisbon, for two sunny weeks."
ASKED = "walrus holiday"


@pytest.fixture(params=[False, True], ids=["lanes alone", "tokens compared"])
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, late_interaction=request.param)


@pytest.fixture
def app(own_app: App) -> App:
    return own_app


async def say(who: Person, text: str, ordinal: int | None = None, *, thread: str = "t", **fields: Any) -> str:
    metadata = {"thread_id": thread} | ({} if ordinal is None else {"ordinal": ordinal})
    said = await who.call("store_raw_memory", raw_content=text, metadata=metadata, sync=True, **fields)
    return str(said["id"])


async def fill(who: Person, **fields: Any) -> None:
    for number in range(6):
        await say(who, f"The kettle number {number} boils.", thread=f"other {number}", **fields)


async def recalled(who: Person, query: str = ASKED, **fields: Any) -> dict[str, tuple[float, list[str]]]:
    await tokens_made(who)
    answer = await who.call("recall", query=query, **fields)
    return {each["id"]: (each["score"], each["retrieval_signals"]) for each in answer["memories"]}


async def test_an_answer_is_found_by_the_words_of_its_question(member: Person) -> None:
    await fill(member)
    question = await say(member, QUESTION, 1)
    answer = await say(member, ANSWER, 2)
    found = await recalled(member)
    assert list(found)[:2] == [question, answer]
    assert "thread" in found[answer][1]
    assert "thread" not in found[question][1]
    assert found[answer][0] < found[question][0] < 1


async def test_alone_and_in_another_thread_it_counts_for_itself(member: Person) -> None:
    await fill(member)
    await say(member, QUESTION, 1, thread="elsewhere")
    answer = await say(member, ANSWER, 2)
    apart = (await recalled(member)).get(answer, (0.0, []))
    assert "thread" not in apart[1]
    await say(member, QUESTION, 1)
    assert (await recalled(member))[answer][0] > apart[0]


SCOPES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"memory_scope": "organization"}, {"memory_scope": "private"}),
    ({"memory_scope": "private"}, {"memory_scope": "organization"}),
    ({"memory_scope": "private"}, {"memory_scope": "private"}),
]


@pytest.mark.parametrize(("mine", "theirs"), SCOPES)
@pytest.mark.parametrize("operation", ["recall", "search"])
async def test_what_somebody_else_said_in_a_thread_of_that_name_is_not_felt(
    owner: Person, member: Person, mine: dict[str, Any], theirs: dict[str, Any], operation: str
) -> None:
    """The same words are stored in either world, in the thread or in another one: rarity is the same."""

    async def answer_beside(thread: str) -> Any:
        await say(member, ANSWER, 2, thread=thread, **mine)
        await say(owner, QUESTION, 1, thread="near" if thread == "near" else "far away", **theirs)
        asked = {"include_retrieval_diagnostics": True, "boost_recent": False} if operation == "search" else {}
        found = await member.call(operation, query=ASKED, memory_scope=mine["memory_scope"], **asked)
        hits = found["results"] if operation == "search" else found["memories"]
        text = "content" if operation == "search" else "raw_content"
        said = [hit for hit in hits if hit[text] == ANSWER]
        signals = [
            hit["metadata"]["retrieval_signals"] if operation == "search" else hit["retrieval_signals"] for hit in said
        ]
        assert not any("thread" in each for each in signals)
        if operation == "search":
            assert found["filters"]["graph_retrieval"]["thread_count"] == 0
        return {round(hit["score"], 4) for hit in said}

    await fill(member, **mine)
    first = await answer_beside("near")
    both = await answer_beside("apart")
    assert len(first) == 1
    assert len(both) == 1, "of two equal memories, one beside a hidden one, neither scores otherwise"


@pytest.mark.parametrize("way", ["archived", "deleted", "superseded"])
async def test_what_is_no_longer_so_lends_nothing(member: Person, way: str) -> None:
    await fill(member)
    if way == "superseded":
        made = await member.call(
            "remember", content=QUESTION, title="Q", metadata={"thread_id": "t", "ordinal": 1}, atomic=True
        )
        question, entity = made["raw_memory_id"], made["id"]
    else:
        question, entity = await say(member, QUESTION, 1), ""
    answer = await say(member, ANSWER, 2)
    assert "thread" in (await recalled(member))[answer][1]
    if way == "archived":
        await member.call("review_capture", capture_id=question, review_state="archived")
    elif way == "deleted":
        await member.call("erase_capture", capture_id=question)
    else:
        newer = {"name": "New", "content": "Otherwise.", "related_to": [f"supersedes:{entity}"]}
        await member.call("create_entity", **newer, sync=True)
    await caught_up(member)
    found = await recalled(member)
    assert question not in found
    assert answer not in found or "thread" not in found[answer][1]


async def test_a_neighbour_that_the_filter_leaves_out_lends_nothing(member: Person, owner: Person) -> None:
    project = (await owner.call("create_entity", name="Quarry", entity_type="project"))["id"]
    await fill(member)
    await say(member, QUESTION, 1)
    answer = await say(member, ANSWER, 2, project_id=project)
    assert "thread" in (await recalled(member))[answer][1]
    assert "thread" not in (await recalled(member, project_id=project))[answer][1]


async def test_a_neighbour_with_other_participants_lends_nothing_to_a_search_for_some(member: Person) -> None:
    async def tell(text: str, ordinal: int, participant: str) -> str:
        metadata = {"thread_id": "t", "ordinal": ordinal, "participants": [participant]}
        said = await member.call("store_raw_memory", raw_content=text, metadata=metadata, sync=True)
        return str(said["id"])

    async def signals(**options: Any) -> dict[str, list[str]]:
        asked = {"query": ASKED, "types": ["raw_memory"], "boost_recent": False}
        answer = await member.call("search", **asked, **options)
        return {each["id"]: each["metadata"]["retrieval_signals"] for each in answer["results"]}

    await fill(member)
    question, answer = await tell(QUESTION, 1, "Ann"), await tell(ANSWER, 2, "Bob")
    await caught_up(member)
    assert "thread" in (await signals())[answer]
    assert "thread" in (await signals(participants=["ann", "bob"]))[answer]
    alone = await signals(participants=["bob"])
    assert question not in alone
    assert "thread" not in alone[answer]


async def test_the_past_and_ranks_alone_heed_no_thread(member: Person) -> None:
    await fill(member)
    await say(member, QUESTION, 1)
    await say(member, ANSWER, 2)
    now = member.app.clock().isoformat()
    past = await member.call("search", query=ASKED, as_of=now, include_retrieval_diagnostics=True)
    assert past["filters"]["graph_retrieval"]["thread_count"] == 0
    pack = await member.call("context", goal=ASKED, evidence={"types": ["raw_memory"], "retrieval_mode": "naive"})
    signals = [item["metadata"]["retrieval_signals"] for item in pack["evidence"]["results"]]
    assert not any("thread" in each for each in signals)


RARE = "zebra umbrella holiday walrus"
METALS = ("Zinc, mostly.", "Tin, seldom.", "Copper, rarely.", "Lead, once.")


async def crowd(who: Person) -> None:
    for number in range(DEPTH + 20):
        await who.call("store_raw_memory", raw_content=f"Invoice {number} of Walrus Ltd is paid.")
    await caught_up(who)


async def test_what_no_lane_found_comes_in_beside_what_is_best(member: Person) -> None:
    await crowd(member)
    question = await say(member, "Did the walrus need an umbrella on holiday with the zebra?", 1)
    answer, *_, far = [await say(member, said, at) for at, said in enumerate(METALS, start=2)]
    found = await recalled(member, RARE)
    assert next(iter(found)) == question
    assert found[answer][1] == ["thread"]
    assert far not in await recalled(member, RARE, limit=50)
    shown = await member.call("search", query=RARE, types=["raw_memory"], limit=1, include_retrieval_diagnostics=True)
    assert shown["total"] <= shown["filters"]["pool_limit"]


@pytest.mark.parametrize("gone", ["question", "answer"])
async def test_hidden_or_deleted_turns_bring_nothing_in(member: Person, owner: Person, gone: str) -> None:
    await crowd(member)
    question = await say(member, "Did the walrus need an umbrella on holiday with the zebra?", 1)
    answer = await say(member, "Zinc, mostly.", 2)
    hidden = await say(owner, "Iron, never.", 3)
    found = await recalled(member, RARE, limit=50)
    assert answer in found
    assert hidden not in found
    which = {"question": question, "answer": answer}[gone]
    await member.call("review_capture", capture_id=which, review_state="archived")
    await caught_up(member)
    assert answer not in await recalled(member, RARE, limit=50)


async def plans(who: Person, **fields: Any) -> None:
    for at, (speaker, text) in enumerate(
        [
            ("Ines", "Ravi told me that he wants to open a bakery in the old mill."),
            ("Ravi", "Yes, and there will be a garden with tables behind it."),
            ("Ines", "I would rather open a bookshop with a small stage."),
            ("Ravi", "You could have readings there on Fridays."),
        ]
    ):
        await say(who, f"{speaker}: {text}", at, thread=f"plans {at // 2}", **fields)


async def first_speakers(who: Person, query: str) -> list[str]:
    await tokens_made(who)
    answer = await who.call("recall", query=query)
    return [each["raw_content"].partition(":")[0] for each in answer["memories"] if ":" in each["raw_content"]]


async def test_whom_the_question_is_about_speaks_first(member: Person, settings: Settings) -> None:
    await fill(member)
    await plans(member)
    speakers = await first_speakers(member, "What does Ines want to open, as Ravi knows?")
    if settings.late_interaction:
        assert speakers[0] == "Ines"
    turned = await first_speakers(member, "What does Ravi want to open, as Ines knows?")
    assert speakers != turned or not settings.late_interaction


async def test_what_the_named_speaker_says_is_no_doubtful_answer(member: Person) -> None:
    await fill(member)
    for at, (speaker, text) in enumerate(
        [("Ravi", "A bakery opens in the old mill."), ("Ines", "Then we meet there.")]
    ):
        metadata = {"thread_id": "mill", "ordinal": at, "speaker": speaker}
        await member.call("store_raw_memory", raw_content=text, metadata=metadata, sync=True)
    found = await recalled(member, "What did Ravi say about the bakery in the old mill?")
    assert max(score for score, _ in found.values()) > 0.5


async def test_the_filtered_are_compared_token_by_token(
    member: Person, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AMONG", "AMONG_BY_WORDS"):
        monkeypatch.setattr(f"tools.retrieval.evidence.{name}", 3)
    for number in range(6):
        await say(member, f"Xavier keeps the printer toner of Lisbon in room {number}.", number)
    asked = await say(member, "The printer is out of toner.", 1, thread="other")
    await tokens_made(member)
    page = await member.call("search", query="Where does Xavier keep the toner in Lisbon?", thread_id="other")
    assert [each["id"] for each in page["results"]] == [asked]
    assert page["results"][0]["score"] < 0.3 or not settings.late_interaction


async def test_unreadable_speakers_do_not_change_the_order(owner: Person, member: Person, settings: Settings) -> None:
    await fill(member)
    await plans(member)
    asked = "What does Olga know of what Ravi would open, a bookshop with a stage?"

    async def order() -> list[str]:
        await tokens_made(member)
        answer = await member.call("recall", query=asked, limit=50)
        return [each["raw_content"] for each in answer["memories"] if "Olga" not in each["raw_content"]]

    before = await order()
    for ordinal in (8, 9):
        await say(owner, f"Olga: The train was late {ordinal} times.", ordinal, thread="trains", memory_scope="private")
    await caught_up(owner)
    assert await order() == before
    for ordinal in (8, 9):
        await say(member, f"Olga: The train was late {ordinal} times.", ordinal, thread="trains")
    assert (await order() != before) == settings.late_interaction, "where one may read her, the question is about her"
