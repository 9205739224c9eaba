"""Raw memories: kept to the letter, found again in one scope, and nobody else's."""

from dataclasses import replace
from typing import Any

import pytest

from auth.principal import RecentPrincipals
from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up, person
from tools.app import App

pytestmark = pytest.mark.anyio

WALRUS = "The walrus said at standup that the granite cache must be flushed before each release."


async def keep(who: Person, text: str = WALRUS, **fields: Any) -> dict[str, Any]:
    return dict(await who.call("store_raw_memory", raw_content=text, sync=True, **fields))


async def recalled(who: Person, query: str = "walrus granite cache", **fields: Any) -> list[str]:
    answer = await who.call("recall", query=query, **fields)
    return [each["id"] for each in answer["memories"]]


async def a_project(owner: Person, **metadata: Any) -> str:
    made = await owner.call("create_entity", name="Quarry", entity_type="project", metadata=metadata)
    return str(made["id"])


@pytest.mark.parametrize(
    "text",
    [
        " leading and trailing blanks \n\n\t",
        "\ufeffbyte order mark, e\u0301 decomposed, \u00e9 composed, \U0001f9ed astral, \u202eright to left",
        "line\r\nends\rof\nall kinds\x0b\x0c\x1f\u2028",
        '{"json": "not parsed"}',
        "x",
    ],
)
async def test_it_is_verbatim(member: Person, text: str) -> None:
    kept = await keep(member, text)
    assert kept["raw_content"] == text
    read = await member.call("get_capture", capture_id=kept["id"])
    assert read["raw_content"] == text
    assert read["source_id"] == kept["id"]


async def test_what_a_client_says_of_it_is_kept(member: Person) -> None:
    kept = await keep(
        member, title="Standup", source_id="slack:C1/p2", tags=["standup"],
        metadata={"thread_id": "t1", "captured_at": "2026-03-01T09:00:00+02:00", "capture_mode": "quick"},
        provenance={"session": "s1"}, capture_surface="cli",
    )  # fmt: skip
    read = await member.call("get_capture", capture_id=kept["id"])
    told = {key: read[key] for key in ("title", "source_id", "tags", "provenance", "capture_surface", "capture_mode")}
    assert told == {
        "title": "Standup", "source_id": "slack:C1/p2", "tags": ["standup"], "provenance": {"session": "s1"},
        "capture_surface": "cli", "capture_mode": "quick",
    }  # fmt: skip
    assert read["captured_at"] == "2026-03-01T07:00:00Z"
    assert kept["policy_reason"] == "same_scope_write_allowed"
    assert (read["memory_scope"], read["scope_key"]) == ("private", member.user_id)


async def test_it_is_recalled_by_words_and_meaning(member: Person) -> None:
    kept = await keep(member)
    await keep(member, "Lunch was soup.")
    answer = await member.call("recall", query="When do we have to empty the cache?", limit=1)
    (found,) = answer["memories"]
    assert (found["id"], answer["policy_reason"]) == (kept["id"], "private_principal_bound")
    assert found["raw_content"] == WALRUS
    assert 0 < found["score"] <= 1


async def test_a_long_one_is_found_by_its_last_passage(member: Person) -> None:
    text = "Nothing of note happened. " * 3000 + "Only the zanzibarquux valve was replaced."
    kept = await keep(member, text, title="Log")
    answer = await member.call("recall", query="zanzibarquux valve")
    (found,) = answer["memories"]
    assert found["id"] == kept["id"]
    assert "zanzibarquux" in found["passage"]["text"]
    start, end = found["passage"]["start"], found["passage"]["end"]
    assert text[start:end].startswith(found["passage"]["text"][:50])
    assert (found["truncated"], found["raw_content_length"]) == (True, len(text))


async def test_a_diary_is_apart_and_each_agent_has_its_own(member: Person) -> None:
    await member.refused("store_raw_memory", InvalidRequest, match="agent", raw_content="x", diary=True)
    plain = await keep(member)
    scout = await keep(member, diary=True, agent_id="Scout")
    miner = await keep(member, diary=True, agent_id="miner")
    assert await recalled(member) == [plain["id"]]
    assert set(await recalled(member, diary=True)) == {scout["id"], miner["id"]}
    assert await recalled(member, diary=True, agent_id="scout") == [scout["id"]]
    hits = (await member.call("search", query="walrus granite"))["results"]
    assert [hit["id"] for hit in hits] == [plain["id"]]


@pytest.mark.parametrize(
    ("fields", "error", "code"),
    [
        ({"memory_scope": "project"}, InvalidRequest, "missing_scope_key"),
        ({"memory_scope": "team"}, InvalidRequest, "missing_scope_key"),
        ({"memory_scope": "shared"}, InvalidRequest, "missing_scope_key"),
        ({"memory_scope": "delegated"}, InvalidRequest, "missing_scope_key"),
        ({"memory_scope": "private", "scope_key": "somebody"}, InvalidRequest, "private_scope_key_mismatch"),
        ({"memory_scope": "project", "scope_key": "nowhere"}, NotFound, "There is no project nowhere."),
        ({"memory_scope": "team", "scope_key": "nowhere"}, Forbidden, "unverified_membership"),
        ({"memory_scope": "shared", "scope_key": "nowhere"}, Forbidden, "unverified_membership"),
        ({"memory_scope": "public"}, Forbidden, "scope_not_enabled"),
        ({"memory_scope": "team", "scope_key": "x", "diary": True, "agent_id": "a"}, InvalidRequest, "diary"),
        ({"agent_id": "scout"}, InvalidRequest, "agent_id"),
        ({"memory_scope": "nonsense"}, ValidationFailed, "memory_scope"),
    ],
)
@pytest.mark.parametrize("operation", ["store_raw_memory", "recall"])
async def test_scopes_are_checked(
    member: Person, operation: str, fields: dict[str, Any], error: type[EngrainError], code: str
) -> None:
    said = {"raw_content": WALRUS} if operation == "store_raw_memory" else {"query": "walrus"}
    refused = await member.refused(operation, error, **said, **fields)
    assert code in str(refused) + refused.code + str(refused.details)


async def test_a_setting_enables_the_scope_public(app: App, owner: Person, member: Person) -> None:
    accounts = replace(app.accounts, public_scope=True, recent=RecentPrincipals())
    enabled = replace(app, accounts=accounts, settings=app.settings.model_copy(update={"public_scope": True}))
    ada, bob = (replace(who, app=enabled) for who in (member, owner))
    kept = await keep(ada, memory_scope="public")
    assert kept["memory_scope"] == "public"
    assert await recalled(bob, memory_scope="public") == [kept["id"]]
    told = await ada.call("create_entity", name="Walrus", content=WALRUS, metadata={"memory_scope": "public"})
    assert (await bob.call("get_entity", entity_id=told["id"]))["metadata"]["memory_scope"] == "public"
    assert (await bob.call("create_memory_space", name="Everybody", memory_scope="public"))["state"] == "active"
    stranger = await person(enabled, "stranger")
    assert await recalled(stranger, memory_scope="public") == []


async def test_it_is_read_as_it_was_by_who_may_read_it(member: Person, owner: Person) -> None:
    before = member.app.clock().isoformat()
    kept = await keep(member)
    now = member.app.clock().isoformat()
    assert (await member.call("get_entity", entity_id=kept["id"], as_of=now))["content"] == WALRUS
    for who, as_of in ((member, before), (owner, now)):
        await who.refused("get_entity", NotFound, entity_id=kept["id"], as_of=as_of)


async def test_project_memory_needs_an_explicit_project_role(app: App, owner: Person, member: Person) -> None:
    project = await a_project(owner)
    kept = await keep(owner, memory_scope="project", scope_key=project)
    assert kept["project_id"] == project
    assert await recalled(owner, memory_scope="project", scope_key=project) == [kept["id"]]
    assert (await member.call("get_entity", entity_id=project))["id"] == project
    with pytest.raises(Forbidden, match="unverified_membership"):
        await recalled(member, memory_scope="project", scope_key=project)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_viewer")
    assert await recalled(member, memory_scope="project", scope_key=project) == [kept["id"]]
    assert await recalled(member, memory_scope="project", project_id=project) == [kept["id"]]
    with pytest.raises(Forbidden, match="not add"):
        await keep(member, memory_scope="project", scope_key=project)


async def test_viewers_read_organization_memory(
    owner: Person, member: Person, viewer: Person, stranger: Person
) -> None:
    kept = await keep(member, memory_scope="organization")
    for who in (owner, member, viewer):
        assert await recalled(who, memory_scope="organization") == [kept["id"]]
    assert await recalled(stranger, memory_scope="organization") == []
    with pytest.raises(Forbidden):
        await keep(viewer, memory_scope="organization")


async def test_a_memory_about_a_project_is_recalled_by_it(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    about = await keep(member, project_id=project)
    await keep(member, WALRUS + " Again.")
    assert await recalled(member, project_id=project) == [about["id"]]
    with pytest.raises(NotFound):
        await keep(member, project_id="project_000000000000")


async def test_no_list_of_entities_meets_it(member: Person) -> None:
    kept = await keep(member, memory_scope="organization")
    other = await member.call("create_entity", name="Walrus", content=WALRUS, sync=True)
    await caught_up(member)
    listed = await member.call("list_entities", page_size=200)
    assert [each["id"] for each in listed["entities"]] == [other["id"]]
    assert (await member.call("explore"))["total"] == 1
    stats = await member.call("admin_stats")
    assert "raw_memory" not in stats["entity_counts"]
    await member.refused("create_entity", NotFound, name="x", related_to=[kept["id"]])
    await member.refused("create_entity", ValidationFailed, name="x", entity_type="raw_memory")


async def test_a_search_finds_the_callers_own_and_counts_them_apart(owner: Person, member: Person) -> None:
    mine = await keep(member)
    theirs = await keep(owner)
    shared = await keep(owner, memory_scope="organization")
    entity = await owner.call("create_entity", name="Walrus granite", content=WALRUS, sync=True)
    await caught_up(member)
    found = await member.call("search", query="walrus granite cache")
    assert {hit["id"] for hit in found["results"]} == {mine["id"], entity["id"]}
    assert (found["raw_memory_count"], found["graph_count"], found["total"]) == (1, 1, 2)
    hit = next(hit for hit in found["results"] if hit["id"] == mine["id"])
    assert (hit["type"], hit["result_origin"]) == ("raw_memory", "raw_memory")
    assert theirs["id"] not in str(found)
    for fields, wanted in (
        ({"include_raw_memory": False}, {entity["id"]}),
        ({"types": ["raw_memory"]}, {mine["id"]}),
        ({"types": ["episode"]}, {entity["id"]}),
        ({"memory_scope": "organization", "types": ["raw_memory"]}, {shared["id"]}),
        ({"include_graph": False}, {mine["id"]}),
        ({"types": ["raw_memory"], "include_raw_memory": False}, set()),
    ):
        found = await member.call("search", query="walrus granite cache", **fields)
        assert {hit["id"] for hit in found["results"]} == wanted, fields


async def test_an_entity_made_of_it_is_as_private_and_the_capture_names_it(owner: Person, member: Person) -> None:
    kept = await keep(member)
    made = await member.call(
        "create_entity", name="Flush", entity_type="rule", content=WALRUS, metadata={"raw_memory_id": kept["id"]}
    )
    assert made["metadata"]["memory_scope"] == "private"
    capture = await member.call("get_capture", capture_id=kept["id"])
    assert (capture["entity_id"], capture["entity_type"], capture["review_state"]) == (made["id"], "rule", "promoted")
    await owner.refused("get_entity", NotFound, entity_id=made["id"])
    await member.run("delete_entity", entity_id=made["id"])
    capture = await member.call("get_capture", capture_id=kept["id"])
    assert (capture["entity_id"], capture["entity_type"]) == (None, "raw_memory")


async def test_an_entity_of_a_project_memory_is_its_members_and_stays_so(app: App, owner: Person) -> None:
    colleague = await person(app, "colleague", of=owner, role="member")
    project, other = await a_project(owner), await a_project(owner)
    kept = await keep(owner, memory_scope="project", scope_key=project)
    metadata = {"project_id": project, "raw_memory_id": kept["id"]}
    made = await owner.call("create_entity", name="Flush", metadata=metadata)
    for place in (project, other):
        await colleague.refused("get_entity", NotFound, entity_id=made["id"])
        await owner.call("add_project_member", project_id=place, user_id=colleague.user_id, role="project_viewer")
        assert (await colleague.call("get_entity", entity_id=made["id"]))["id"] == made["id"]
        await owner.call("update_entity", entity_id=made["id"], metadata={"project_id": other})


async def test_naming_somebody_elses_memory_links_nothing(owner: Person, member: Person) -> None:
    kept = await keep(member)
    made = await owner.call("create_entity", name="Flush", metadata={"raw_memory_id": kept["id"]})
    assert made["metadata"]["memory_scope"] == "organization"
    assert (await member.call("get_capture", capture_id=kept["id"]))["entity_id"] is None


async def test_captures_are_listed_latest_first_with_their_filters(owner: Person, member: Person) -> None:
    first = await keep(member, capture_surface="cli")
    second = await keep(member, "Second.", diary=True, agent_id="scout")
    third = await keep(member, "Third.", metadata={"captured_at": "2020-01-01"})
    await keep(owner, "Not yours.")
    listed = await member.call("list_captures")
    assert [each["id"] for each in listed["captures"]] == [second["id"], first["id"], third["id"]]
    assert listed["total"] == 3
    page = await member.call("list_captures", limit=1, offset=1)
    assert ([each["id"] for each in page["captures"]], page["total"], page["has_more"]) == ([first["id"]], 3, True)
    await member.call("create_entity", name="x", entity_type="rule", metadata={"raw_memory_id": first["id"]})
    for fields, wanted in (
        ({"capture_surface": "cli"}, [first["id"]]),
        ({"entity_type": "rule"}, [first["id"]]),
        ({"entity_type": "raw_memory"}, [second["id"], third["id"]]),
        ({"review_state": "promoted"}, [first["id"]]),
        ({"review_state": "pending", "capture_surface": "api"}, [second["id"], third["id"]]),
    ):
        listed = await member.call("list_captures", **fields)
        assert [each["id"] for each in listed["captures"]] == wanted, fields
        assert listed["total"] == len(wanted)


async def test_reviews_go_where_they_may(member: Person) -> None:
    kept = await keep(member)
    for state in ("deferred", "pending", "deferred", "archived", "archived"):
        reviewed = await member.call("review_capture", capture_id=kept["id"], review_state=state)
        assert reviewed["review_state"] == state
    with pytest.raises(EngrainError, match="archived"):
        await member.run("review_capture", capture_id=kept["id"], review_state="pending")


async def test_an_archived_one_is_read_but_not_recalled(member: Person) -> None:
    kept, other = await keep(member), await keep(member, WALRUS + " Always.")
    await member.call("review_capture", capture_id=kept["id"], review_state="archived")
    assert await recalled(member) == [other["id"]]
    found = await member.call("search", query="walrus granite cache")
    assert ([hit["id"] for hit in found["results"]], found["raw_memory_count"]) == ([other["id"]], 1)
    assert (await member.call("get_capture", capture_id=kept["id"]))["raw_content"] == WALRUS
    listed = await member.call("list_captures", review_state="archived")
    assert [each["id"] for each in listed["captures"]] == [kept["id"]]


async def test_a_search_narrows_raw_memories_by_what_their_import_says_of_them(member: Person) -> None:
    said = {"thread_id": "t1", "participants": ["Ann", "Bob"], "labels": ["Ops"], "occurred_at": "2026-03-01T12:00:00Z"}
    mail = await keep(member, metadata=said)
    plain = await keep(member, WALRUS + " Again.")
    # What is no date counts as missing, whichever of the two it is.
    month = await keep(member, WALRUS + " Ever.", metadata={"occurred_at": "soon", "captured_at": "2026-01"})
    for fields, wanted in (
        ({}, {mail["id"], plain["id"], month["id"]}),
        ({"thread_id": "t1"}, {mail["id"]}),
        ({"thread_id": "t2"}, set()),
        ({"participants": ["ann", "zoe"]}, {mail["id"]}),
        ({"labels": ["ops"], "participants": ["zoe"]}, set()),
        ({"occurred_after": "2026-03-01T12:00:00+02:00"}, {mail["id"]}),
        ({"occurred_after": "2026-03-01T12:00:00"}, {mail["id"]}),
        ({"occurred_after": "2026-03-01T12:00:01"}, set()),
        ({"occurred_after": "2026-02", "occurred_before": "2026-03-01T12:00:00Z"}, set()),
        ({"occurred_before": "2026-03-02"}, {mail["id"], month["id"]}),
        ({"occurred_before": "2026-02-01"}, {month["id"]}),
        ({"occurred_after": "2026-01-15", "occurred_before": "2026-01-16"}, {month["id"]}),
        ({"occurred_before": "2026-01-01"}, set()),
        ({"occurred_before": "2026"}, set()),
        ({"occurred_after": "2026", "occurred_before": "2027"}, {mail["id"], month["id"]}),
        ({"occurred_after": "2027"}, set()),
    ):
        found = await member.call("search", query="walrus granite cache", **fields)
        assert {hit["id"] for hit in found["results"]} == wanted, fields
        assert found["raw_memory_count"] == len(wanted)


async def test_what_is_no_date_is_kept_and_said_to_count_as_missing(member: Person) -> None:
    said = {"occurred_at": "the day of the storm", "captured_at": "2026-W10"}
    kept = await keep(member, metadata=said)
    assert kept["metadata"] == said
    assert kept["unread_dates"] == ["occurred_at"]
    assert kept["captured_at"] == "2026-03-02T00:00:00Z"
    assert (await keep(member, metadata={"occurred_at": 1_700_000_000}))["unread_dates"] == ["occurred_at"]
    for dated in ({}, {"occurred_at": None}, {"occurred_at": "2026-03", "captured_at": "3d"}):
        assert (await keep(member, metadata=dated))["unread_dates"] == []


async def test_a_reader_makes_nothing_for_the_others_who_read_a_memory(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    kept = await keep(owner, memory_scope="project", scope_key=project)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_viewer")
    made = await member.call("create_entity", name="Poison", metadata={"raw_memory_id": kept["id"]})
    assert made["metadata"]["memory_scope"] == "private"
    await owner.refused("get_entity", NotFound, entity_id=made["id"])
    capture = await owner.call("get_capture", capture_id=kept["id"])
    assert (capture["entity_id"], capture["review_state"]) == (None, "pending")


async def test_what_was_made_of_somebody_elses_memory_is_shown_to_no_more_people(app: App, owner: Person) -> None:
    author = await person(app, "author", of=owner, role="member")
    maker = await person(app, "maker", of=owner, role="member")
    project, other = await a_project(owner), await a_project(owner)
    for who in (author, maker):
        await owner.call("add_project_member", project_id=project, user_id=who.user_id, role="project_contributor")
    await owner.call("add_project_member", project_id=other, user_id=maker.user_id, role="project_contributor")
    kept = await keep(author, memory_scope="project", scope_key=project)
    metadata = {"project_id": project, "raw_memory_id": kept["id"]}
    made = await maker.call("create_entity", name="Flush", metadata=metadata)
    for change in ({"memory_scope": "organization"}, {"memory_scope": "project"}, {"project_id": other}):
        await maker.refused("update_entity", Forbidden, match="another user", entity_id=made["id"], metadata=change)
    await maker.call("update_entity", entity_id=made["id"], metadata={"memory_scope": "private"})
    own = await keep(maker, memory_scope="project", scope_key=project)
    made = await maker.call("create_entity", name="Own", metadata={**metadata, "raw_memory_id": own["id"]})
    await maker.call("update_entity", entity_id=made["id"], metadata={"memory_scope": "organization"})


async def test_an_erased_memory_is_in_no_repeated_answer(member: Person) -> None:
    kept = await keep(member)
    asked = {"capture_id": kept["id"], "review_state": "deferred"}
    await member.run("review_capture", idempotency_key="once", **asked)
    assert (await member.run("erase_capture", capture_id=kept["id"])).status == 204
    assert await recalled(member) == []
    await member.refused("review_capture", EngrainError, match="not shown again", idempotency_key="once", **asked)


async def test_a_search_keeps_to_the_raw_memories_of_a_source(member: Person, owner: Person) -> None:
    url = "https://mail.example/" + "m" * 2027
    mail = await keep(member, source_id=url)
    again = await keep(member, WALRUS + " Again.", source_id=url, capture_surface="c" * 200)
    assert (mail["source_id"], mail["score"], len(again["capture_surface"])) == (url, 0, 200)
    own = await keep(member, WALRUS + " Alone.")
    await keep(owner, WALRUS + " Theirs.", source_id=url)
    for source_id, wanted in ((url, {mail["id"], again["id"]}), (own["id"], {own["id"]}), ("mail-78", set())):
        found = await member.call("search", query="walrus granite cache", source_id=source_id)
        assert {hit["id"] for hit in found["results"]} == wanted, source_id
        assert found["raw_memory_count"] == len(wanted)


async def test_when_it_was_said_may_stand_in_the_provenance(member: Person) -> None:
    said = await keep(member, provenance={"captured_at": "2021-03-01"})
    both = await keep(member, provenance={"captured_at": "2021-03-01"}, metadata={"captured_at": "2022"})
    assert (said["captured_at"][:10], both["captured_at"][:10]) == ("2021-03-01", "2022-01-01")
    for year, wanted in (("2021", {said["id"]}), ("2022", {both["id"]})):
        found = await member.call(
            "search", query="walrus granite cache", occurred_after=year, occurred_before=str(int(year) + 1)
        )
        assert {hit["id"] for hit in found["results"]} == wanted
    none = await keep(member, provenance={"captured_at": "2020"}, metadata={"captured_at": None})
    assert none["captured_at"][:10] == "2020-01-01"
    with pytest.raises(ValidationFailed, match=r"provenance\.captured_at") as refused:
        await keep(member, provenance={"captured_at": "nope"})
    assert refused.value.details["field"] == "body.provenance.captured_at"


async def test_relative_filters_count_from_the_reference_time(member: Person) -> None:
    may = await keep(member, metadata={"occurred_at": "2023-05-07"})
    await keep(member, WALRUS + " Again.", metadata={"occurred_at": "2023-05-01"})
    found = await member.call(
        "search", query="walrus granite cache", occurred_after="7d", reference_time="2023-05-10", types=["raw_memory"]
    )
    assert [hit["id"] for hit in found["results"]] == [may["id"]]


async def test_a_memory_is_read_in_parts_relabelled_and_erased_as_entities_are(owner: Person, member: Person) -> None:
    text = "".join(f"Sentence {number:06}. " for number in range(22_000))
    made = await owner.call("store_raw_memory", title="Log", raw_content=text, tags=["old"], sync=True)
    memory_id = made["id"]
    parts, at = [], 0
    while at < len(text):
        read = await owner.call("fetch_slice", entity_id=memory_id, start=at, content_max_chars=150_000)
        parts.append(read["content"])
        at += len(read["content"])
        assert (read["truncated"], read["content_length"]) == (at < len(text), len(text))
    assert "".join(parts) == text
    short = await owner.call("get_entity", entity_id=memory_id[:-4].upper(), start=17, content_max_chars=16)
    assert (short["id"], short["content"], short["content_length"]) == (memory_id, "Sentence 000001.", len(text))
    assert (await owner.call("expand_neighbors", entity_ids=[memory_id]))["results"][0]["entity_id"] == memory_id
    changed = await owner.call("update_entity", entity_id=memory_id, tags=["new"], name="Journal")
    assert (changed["tags"], changed["name"], changed["content"]) == (["new"], "Journal", text)
    await owner.refused("update_entity", InvalidRequest, entity_id=memory_id, content="x", match="word for word")
    for operation in ("get_entity", "fetch_slice", "update_entity", "delete_entity"):
        given = {"tags": ["x"]} if operation == "update_entity" else {}
        for each in (memory_id, memory_id[:-4]):
            await member.refused(operation, NotFound, entity_id=each, **given)
    await member.refused("expand_neighbors", NotFound, entity_ids=[memory_id])
    await owner.call("delete_entity", entity_id=memory_id)
    await owner.refused("get_entity", NotFound, entity_id=memory_id)


async def test_a_memory_of_the_organization_is_changed_and_erased_by_its_author_only(
    owner: Person, member: Person
) -> None:
    said = {"title": "Said", "raw_content": "Tea at five.", "memory_scope": "organization"}
    made = await owner.call("store_raw_memory", **said)
    await member.refused("delete_entity", Forbidden, entity_id=made["id"])
    await member.refused("update_entity", Forbidden, entity_id=made["id"], tags=["x"])
    assert (await member.call("get_entity", entity_id=made["id"]))["content"] == "Tea at five."
