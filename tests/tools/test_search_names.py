"""Search by a record's whole name: the record comes first, whatever the name is made of and whatever else holds it."""

from datetime import UTC, datetime

import pytest

from tests.people import Person, caught_up
from tests.tools.search.test_search import names

pytestmark = pytest.mark.anyio

ODD = ["The Who", "To be or not to be", "It is what it is", "AND", "IT", "🚀", "😀😀", "🇩🇪", "☃", "???", "C++", "No. 1"]


async def store(owner: Person, *pairs: tuple[str, str]) -> None:
    entities = [{"name": name, "content": content} for name, content in pairs]
    await owner.call("bulk_create_entities", entities=entities, sync=True)


async def test_a_name_of_stop_words_emoji_or_punctuation_is_an_exact_answer(owner: Person) -> None:
    fillers = [(f"Item {number}", "What is it and who are they? It is the 🚀 team ??? 😀") for number in range(20)]
    await store(owner, *fillers, *((name, "x") for name in ODD))
    for name in ODD:
        for query in (name, name.lower(), f'"{name}"', f"  {name} "):
            hit = (await owner.call("search", query=query))["results"][0]
            assert (hit["name"], hit["score"] >= 0.95) == (name, True), query


async def test_the_exact_name_comes_before_whatever_repeats_its_words(owner: Person) -> None:
    repeated = "process release process release"
    await store(
        owner, ("Build release", repeated), ("Release", f"Release process. {repeated}"),
        ("Release process", "Bump the version, then tag and push."), ("Process release", repeated),
    )  # fmt: skip
    found = (await owner.call("search", query="Release process"))["results"]
    assert found[0]["name"] == "Release process"
    assert found[0]["score"] >= 0.98 > found[1]["score"]


async def test_a_name_is_not_found_by_those_who_may_not_see_it_nor_past_a_filter(owner: Person, member: Person) -> None:
    hidden = {"memory_scope": "private"}
    await member.call("create_entity", name="The Who", category="band", metadata=hidden, sync=True)
    assert await names(owner, "The Who") == []
    assert await names(member, "The Who", category="film") == []
    assert await names(member, "The Who", category="Band") == ["The Who"]


async def test_words_are_compared_without_case_in_every_alphabet(owner: Person) -> None:
    pairs = (
        ("İstanbul office", "istanbul OFFICE"), ("ΟΔΟΣ", "οδος"), ("Straße", "STRASSE"), ("Café", "cafe"),
        ("Ёлка", "елка"), ("Αθήνα", "αθηνα"),
    )  # fmt: skip
    await store(owner, *((stored, "x") for stored, _ in pairs))
    for stored, asked in pairs:
        for query in (asked, f"{asked} somewhere", stored.upper()):
            assert (await names(owner, query))[0] == stored, query
        listed = await owner.call("list_entities", search=asked)
        assert [entity["name"] for entity in listed["entities"]] == [stored]


async def test_a_heading_is_the_name_of_what_stands_under_it(owner: Person) -> None:
    repeated = "Running the server, running the tests, running it all, and release after release."
    text = f"# Guide\n\nStart here.\n\n## `Release` process\n\nTag and push.\n\n## Running\n\n{repeated}\n\n## It\n\nx"
    page = [{"url": "guide.md", "content": text}]
    await owner.call("ingest_documents", source_name="Docs", documents=page, sync=True)
    await store(owner, ("Release", "process release process release"))
    for query, path in (
        ("release process", ["Guide", "`Release` process"]),
        ("It", ["Guide", "It"]),
        ("Guide > Running", ["Guide", "Running"]),
    ):
        hit = (await owner.call("search", query=query))["results"][0]
        assert (hit["metadata"].get("heading_path"), hit["score"] >= 0.98) == (path, True), query


async def test_a_number_that_nobody_wrote_down_is_not_answered_with_a_near_one(owner: Person, member: Person) -> None:
    await store(
        owner,
        ("E4031", "Raised by the gateway."),
        ("Payment timeout", "The gateway answers E4031 when the session is too old."),
        ("ENG-104", "Rotate the keys of the mirror."),
        ("Mail", "Letters are sent by the queue each hour."),
    )

    async def best(query: str) -> tuple[str, float]:
        hit = (await owner.call("search", query=query))["results"][0]
        return hit["name"], hit["score"]

    known = {"E4031": "E4031", "e-4031": "E4031", "ENG-104": "ENG-104", "eng 104": "ENG-104"}
    for query, name in known.items():
        found = await best(query)
        assert (found[0], found[1] > 0.9) == (name, True), query
    unknown = {"E40310": "E4031", "ENG-1040": "ENG-104", "eng_1040": "ENG-104"}
    before = {query: await best(query) for query in unknown}
    assert {query: name for query, (name, _) in before.items()} == unknown
    assert all(score < 0.45 for _, score in before.values())
    # Of a longer question it is a part, and the rest of it still counts.
    assert before["E40310"][1] < (await best("session too old for the payment gateway: E40310"))[1]
    # What somebody else keeps for themselves makes nothing known.
    for query in unknown:
        fields = {"name": query, "content": query, "metadata": {"memory_scope": "private"}}
        await member.call("create_entity", sync=True, **fields)
    assert {query: await best(query) for query in unknown} == before
    await store(owner, ("Migration", "After it ENG-1040 is next."))
    assert (await best("ENG-1040"))[1] > 0.85


async def test_the_beginning_of_a_hash_or_id_is_an_exact_answer(owner: Person, member: Person) -> None:
    commit = "3f9a2c7d81b04e6f9c5d2a1b8e7f60314d5c9b2a"
    await store(
        owner,
        ("Fix login", f"Merged in {commit}."), ("Note", "Login broke in 3f9a2c7d81."),
        ("Other", "Merged in 3f9a1c7d81b04e6f9c5d2a1b8e7f60314d5c9b2a."), ("List", "1 3 7 a c f 81"),
    )  # fmt: skip
    for query, wanted in ((commit[:7], 2), (commit[:9], 2), (commit[:12], 1), (commit, 1), (f"login {commit[:8]}", 2)):
        found = (await owner.call("search", query=query))["results"]
        assert [hit["score"] > 0.9 for hit in found] == [at < wanted for at in range(4)], query
        assert {hit["name"] for hit in found[:wanted]} <= {"Fix login", "Note"}, query
    hidden = {"memory_scope": "private"}
    made = await member.call("create_entity", name="Mine", content="x", metadata=hidden, sync=True)
    memory = await member.call("store_raw_memory", title="Said", raw_content="The tap drips.", sync=True)
    page = await member.call("create_entity", name="Taps", entity_type="document", metadata=hidden, sync=True)
    for record_id in (made["id"], memory["id"], page["id"]):
        digits = record_id.rpartition("_")[2]
        pasted = [f"`{record_id}`", f'"{record_id}"', f"({digits})", f"What became of {record_id}?", f"{digits[:-2]}?"]
        for query in (
            record_id, record_id[:-3], digits, digits[:7], digits.upper(), digits.replace("-", ""), *pasted,
        ):  # fmt: skip
            found = (await member.call("search", query=query))["results"]
            assert (found[0]["id"], found[0]["score"] > 0.95) == (record_id, True), query
            assert record_id not in {hit["id"] for hit in (await owner.call("search", query=query))["results"]}


DAYS = ["2026-11-{}", "{}.11.2026", "notes of {} Nov 2026", "November {}th, 2026", "11/{}/2026"]


@pytest.mark.parametrize("written", DAYS)
async def test_the_record_of_a_day_comes_first_however_the_day_is_written(owner: Person, written: str) -> None:
    days = [(written.format(day), f"Budget, hiring and roadmap {day}.") for day in range(13, 25)]
    await store(owner, *days, ("Release notes", "How we write the notes of a release."))
    for asked in DAYS:
        query = f"notes of {asked.format(19).removeprefix('notes of ')}"
        found = (await owner.call("search", query=query))["results"]
        assert found[0]["name"] == written.format(19), query


async def test_scripts_that_the_model_cannot_read_are_not_alike(owner: Person) -> None:
    texts = {
        "th": "ร้านกาแฟปิดทุกวันจันทร์", "zh": "值班表每周一更新、电话在群公告里。",
        "ja": "当番の電話番号は社内に書いてあります。",
        "ko": "비밀번호는 매달 바꿔야 합니다.", "ru": "Ключ лежит за вахтёром.", "ar": "أحمد يحتفظ به في الدرج",
        "he": "היא נמצאת במגירה", "el": "Είναι στο συρτάρι", "am": "ቁልፉ መሳቢያ ውስጥ ነው",
    }  # fmt: skip
    for name, text in texts.items():
        await owner.call("create_entity", name=name, content=text, sync=True)
        for query in ("猫咪", "🚀", "крокодил", "السيارة", "날씨", "อากาศ", "καιρός", "מזג", "deployment", "???"):
            assert (await owner.call("search", query=query))["results"][0]["score"] < 0.3, (name, query)
    for name, query in (
        ("zh", "值班电话"), ("ja", "当番の電話"), ("ko", "비밀번호"), ("th", "วันจันทร์"), ("ru", "за вахтером"),
    ):  # fmt: skip
        found = (await owner.call("search", query=query))["results"]
        assert (found[0]["name"], found[0]["score"] > 0.85, found[1]["score"] < 0.3) == (name, True, True), query


async def test_what_is_said_again_under_an_unknown_name_is_still_named_as_alike(owner: Person) -> None:
    text = "Rotate the keys of the mirror each night, then tell the people who are on call that it is done."
    await owner.call("create_entity", name="Rotate mirror keys", content=text, entity_type="procedure", sync=True)
    for title in ("Rotate mirror keys (ENG-1040)", "Rotate mirror keys v2.4.1", "Rotate mirror keys Q3"):
        made = await owner.call("add", title=title, content=text, entity_type="procedure")
        assert made["conflicts"], title
        await owner.call("delete_entity", entity_id=made["id"])


async def test_a_name_that_was_known_at_a_moment_is_an_exact_answer_of_that_moment(owner: Person) -> None:
    made = await owner.call("create_entity", name="Gateway", content="It tells of E40310 once.", sync=True)
    then = datetime.now(UTC).isoformat()
    await owner.call("update_entity", entity_id=made["id"], content="It tells of nothing more.")
    await caught_up(owner)
    hit = (await owner.call("search", query="E40310", as_of=then))["results"][0]
    assert (hit["id"], hit["score"] > 0.85) == (made["id"], True)
