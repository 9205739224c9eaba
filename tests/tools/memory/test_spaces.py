"""Memory spaces: who is let in by one, what a disabled one closes, and what a preview may tell."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest

from stores.errors import Conflict, EngrainError, Forbidden, InvalidRequest, NotFound
from stores.ledger import AuditQuery
from tests.people import Person, caught_up, person
from tests.tools.memory.test_memories import WALRUS, a_project, keep, recalled
from tests.tools.runtime.test_events import collect
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

RECORD = {
    "id", "organization_id", "memory_scope", "scope_key", "name", "description", "state", "disabled_reason",
    "metadata", "created_by_user_id", "created_at", "updated_at", "members",
}  # fmt: skip
MEMBER = {
    "id", "organization_id", "space_id", "principal_type", "principal_id", "role", "permissions", "expires_at",
    "created_by_user_id", "created_at", "updated_at",
}  # fmt: skip


async def a_space(who: Person, scope: str = "shared", key: str | None = "crew", **fields: Any) -> dict[str, Any]:
    keyed = {} if key is None else {"scope_key": key}
    return dict(await who.call("create_memory_space", name="Crew", memory_scope=scope, **keyed, **fields))


async def let_in(owner: Person, space_id: str, who: Person, role: str = "reader", **fields: Any) -> dict[str, Any]:
    named = {"space_id": space_id, "principal_type": "user", "principal_id": who.user_id, "role": role}
    return dict(await owner.call("put_memory_space_member", **named, **fields))


async def switch(owner: Person, space_id: str, state: str) -> dict[str, Any]:
    return dict(await owner.call("update_memory_space", space_id=space_id, state=state))


async def preview(who: Person, space_id: str, target: str, kind: str = "user", **fields: Any) -> dict[str, Any]:
    named = {"space_id": space_id, "target_principal_type": kind, "target_principal_id": target}
    return dict(await who.call("preview_memory_space_access", **named, **fields))


async def refused(who: Person, **fields: Any) -> EngrainError:
    error = await who.refused("recall", EngrainError, query="walrus", **fields)
    writing = await who.refused("store_raw_memory", EngrainError, raw_content="x", **fields)
    assert str(writing) == str(error)
    return error


CREW = {"memory_scope": "shared", "scope_key": "crew"}


async def test_a_space_is_made_once_and_shows_its_owner(owner: Person) -> None:
    made = await a_space(owner, description="All hands.", metadata={"colour": "blue"})
    assert set(made) == RECORD
    assert (made["memory_scope"], made["scope_key"], made["state"]) == ("shared", "crew", "active")
    assert (made["disabled_reason"], made["metadata"]) == (None, {"colour": "blue"})
    (creator,) = made["members"]
    assert set(creator) == MEMBER
    assert (creator["principal_type"], creator["principal_id"], creator["role"]) == ("user", owner.user_id, "owner")
    again = await owner.call("create_memory_space", name="Other", **CREW)
    assert again == made
    assert await owner.call("get_memory_space", space_id=made["id"]) == made
    assert (await owner.call("list_memory_spaces"))["spaces"] == [made | {"members": []}]


async def test_the_key_of_a_space_is_what_its_scope_says(owner: Person, member: Person) -> None:
    private = await a_space(owner, "private", None)
    assert private["scope_key"] == owner.user_id
    assert private["members"] == []
    assert (await a_space(owner, "private", owner.user_id))["id"] == private["id"]
    assert (await a_space(owner, "organization", None))["scope_key"] is None
    project = await a_project(owner)
    assert (await a_space(owner, "project", project))["state"] == "active"
    team = (await owner.call("create_team", name="Core"))["id"]
    assert (await a_space(owner, "team", team))["scope_key"] == team
    listed = (await owner.call("list_memory_spaces"))["spaces"]
    assert [each["memory_scope"] for each in listed] == ["private", "organization", "project", "team"]
    for scope, key, word in (
        ("private", member.user_id, "private_scope_key_mismatch"),
        ("delegated", None, "missing_scope_key"),
        ("project", None, "missing_scope_key"),
        ("team", None, "missing_scope_key"),
        ("shared", None, "missing_scope_key"),
    ):
        with pytest.raises(InvalidRequest) as mistaken:
            await a_space(owner, scope, key)
        code = word if word == "missing_scope_key" else "invalid_request"
        assert (mistaken.value.code, mistaken.value.message) == (code, word)
    with pytest.raises(InvalidRequest, match="no key"):
        await a_space(owner, "organization", "crew")
    for scope in ("project", "team"):
        with pytest.raises(NotFound):
            await a_space(owner, scope, "nowhere")


async def test_a_public_space_is_disabled_and_stays_so(owner: Person, member: Person) -> None:
    made = await a_space(owner, "public", None)
    assert (made["state"], made["disabled_reason"]) == ("disabled", "scope_not_enabled")
    with pytest.raises(Forbidden, match="scope_not_enabled"):
        await switch(owner, made["id"], "active")
    with pytest.raises(Conflict, match=r"^scope_not_enabled$"):
        await let_in(owner, made["id"], member)


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_spaces_are_for_owners_and_admins(app: App, owner: Person, role: Any) -> None:
    made = await a_space(owner)
    other = await person(app, "other", of=owner, role=role)
    for operation, fields in (
        ("list_memory_spaces", {}),
        ("create_memory_space", {"name": "x"}),
        ("get_memory_space", {"space_id": made["id"]}),
        ("update_memory_space", {"space_id": made["id"], "name": "x"}),
        ("put_memory_space_member", {"space_id": made["id"], "principal_type": "user", "principal_id": "x"}),
        ("preview_memory_space_access", {"space_id": made["id"], "target_principal_id": "x"}),
    ):
        error = await other.refused(operation, Forbidden, **fields)
        assert (error.code, error.message) == ("insufficient_org_role",) * 2
        assert role.capitalize() in error.remediation


async def test_foreign_and_unknown_spaces_answer_alike(app: App, owner: Person, stranger: Person) -> None:
    admin = await person(app, "admin", of=owner, role="admin")
    theirs = await a_space(admin, "private", None)
    foreign = await a_space(stranger)
    for space_id in (str(uuid4()), theirs["id"], foreign["id"]):
        for operation, fields in (
            ("get_memory_space", {}),
            ("update_memory_space", {"state": "disabled"}),
            ("put_memory_space_member", {"principal_type": "user", "principal_id": owner.user_id}),
            ("preview_memory_space_access", {"target_principal_id": "x"}),
        ):
            error = await owner.refused(operation, NotFound, space_id=space_id, **fields)
            assert (error.code, error.message) == ("not_found", "memory_space_not_found")
    assert (await owner.call("list_memory_spaces"))["spaces"] == []
    assert (await admin.call("list_memory_spaces"))["spaces"] != []


async def test_members_read_and_writers_write(owner: Person, member: Person, viewer: Person) -> None:
    space = await a_space(owner)
    kept = await keep(owner, **CREW)
    assert (await refused(member, **CREW)).message.startswith("unverified_membership")
    reader = await let_in(owner, space["id"], member)
    assert set(reader) == MEMBER
    await let_in(owner, space["id"], viewer, "owner")
    for who in (owner, member, viewer):
        assert await recalled(who, **CREW) == [kept["id"]]
        assert kept["id"] in {each["id"] for each in (await who.call("list_captures"))["captures"]}
        found = await who.call("search", query=WALRUS, **CREW)
        assert (found["raw_memory_count"], found["results"][0]["id"]) == (1, kept["id"])
    for who in (member, viewer):
        with pytest.raises(Forbidden):
            await keep(who, **CREW)
        await who.refused("review_capture", Forbidden, capture_id=kept["id"], review_state="archived")
    writer = await let_in(owner, space["id"], member, "writer")
    assert writer["id"] == reader["id"]
    own = await keep(member, "The walrus was here again.", **CREW)
    assert set(await recalled(owner, **CREW)) == {kept["id"], own["id"]}
    await member.call("review_capture", capture_id=kept["id"], review_state="archived")
    await caught_up(owner)


async def test_what_is_made_of_a_shared_memory_is_for_the_members_of_its_space(owner: Person, member: Person) -> None:
    space = await a_space(owner)
    kept = await keep(owner, **CREW)
    metadata = {"raw_memory_id": kept["id"]}
    made = await owner.call("create_entity", name="Flush", entity_type="rule", metadata=metadata, sync=True)
    shown = {"memory_scope": "shared", "scope_key": "crew"}
    assert {key: made["metadata"][key] for key in shown} == shown
    await member.refused("get_entity", NotFound, entity_id=made["id"])
    await let_in(owner, space["id"], member)
    assert (await member.call("get_entity", entity_id=made["id"]))["name"] == "Flush"
    assert made["id"] in {hit["id"] for hit in (await member.call("search", query="Flush"))["results"]}
    for operation, fields in (("update_entity", {"name": "x"}), ("delete_entity", {})):
        await member.refused(operation, Forbidden, match="memory space", entity_id=made["id"], **fields)
    await let_in(owner, space["id"], member, permissions=["write"])
    assert (await member.call("update_entity", entity_id=made["id"], name="x"))["metadata"]["scope_key"] == "crew"


async def test_an_entity_is_put_into_a_space_by_its_writers(owner: Person, member: Person) -> None:
    space = await a_space(owner)
    scoped = {"name": "Rule", "metadata": CREW}
    await member.refused("create_entity", Forbidden, match="unverified_membership", **scoped)
    await let_in(owner, space["id"], member)
    await member.refused("create_entity", Forbidden, match="not write", **scoped)
    await let_in(owner, space["id"], member, "writer")
    made = await member.call("create_entity", **scoped)
    task = await member.call("create_entity", entity_type="task", **scoped)
    await let_in(owner, space["id"], member, "reader")
    await member.refused("start_task", Forbidden, task_id=task["id"])
    project = await a_project(owner)
    moved = await owner.call("update_entity", entity_id=made["id"], metadata={"project_id": project})
    assert moved["metadata"]["memory_scope"] == "shared"
    await switch(owner, space["id"], "disabled")
    await owner.refused("create_entity", Forbidden, match="scope_not_enabled", **scoped)
    await owner.refused("get_entity", NotFound, entity_id=made["id"])


async def test_a_disabled_space_is_closed_to_all_at_once(owner: Person, member: Person) -> None:
    space = await a_space(owner)
    await let_in(owner, space["id"], member)
    kept = await keep(owner, **CREW)
    assert await recalled(member, **CREW) == [kept["id"]]
    disabled = await switch(owner, space["id"], "disabled")
    assert (disabled["state"], disabled["disabled_reason"]) == ("disabled", "manually_disabled")
    assert len(disabled["members"]) == 2
    for who in (owner, member):
        assert (await refused(who, **CREW)).message.startswith("scope_not_enabled")
        assert (await who.call("list_captures"))["total"] == 0
        await who.refused("get_capture", NotFound, capture_id=kept["id"])
        await who.refused("search", Forbidden, match="scope_not_enabled", query="walrus", **CREW)
    with pytest.raises(Conflict, match=r"^manually_disabled$"):
        await let_in(owner, space["id"], member)
    active = await switch(owner, space["id"], "active")
    assert (active["state"], active["disabled_reason"]) == ("active", None)
    assert await recalled(member, **CREW) == [kept["id"]]


async def test_who_is_no_member_does_not_learn_that_a_space_is_disabled(owner: Person, member: Person) -> None:
    space = await a_space(owner)
    before = await refused(member, **CREW)
    await switch(owner, space["id"], "disabled")
    assert str(await refused(member, **CREW)) == str(before)


@pytest.mark.parametrize("scope", ["private", "project", "team", "organization"])
async def test_a_disabled_space_hides_memories_of_its_scope(owner: Person, member: Person, scope: str) -> None:
    project = await a_project(owner)
    team = (await owner.call("create_team", name="Core"))["id"]
    for who in (owner, member):
        await owner.call("add_team_member", team_id=team, user_id=who.user_id)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_contributor")
    key = {"private": None, "project": project, "team": team, "organization": None}[scope]
    space = await a_space(owner, scope, key)
    place = {"memory_scope": scope} | ({} if key is None else {"scope_key": key})
    kept = await keep(owner, **place)
    diary = await keep(owner, "Dear diary, the walrus.", diary=True, agent_id="scout")
    theirs = await keep(member, "The member's walrus.")
    await switch(owner, space["id"], "disabled")
    assert (await refused(owner, **place)).message.startswith("scope_not_enabled")
    left = {each["id"] for each in (await owner.call("list_captures"))["captures"]}
    assert left == (set() if scope == "private" else {diary["id"]})
    assert await recalled(member) == [theirs["id"]]
    if scope != "private":
        assert (await refused(member, **place)).message.startswith("scope_not_enabled")
    found = await owner.call("search", query=WALRUS)
    assert kept["id"] not in {hit["id"] for hit in found["results"]}
    await switch(owner, space["id"], "active")
    assert kept["id"] in await recalled(owner, **place)


async def test_a_membership_that_expires_ends_by_itself(owner: Person, member: Person) -> None:
    app = owner.app
    space = await a_space(owner)
    kept = await keep(owner, **CREW)
    until = app.clock() + timedelta(seconds=1.2)
    given = await let_in(owner, space["id"], member, expires_at=until.isoformat())
    assert given["expires_at"] is not None
    assert await recalled(member, **CREW) == [kept["id"]]
    async with app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as stream:
        await keep(owner, "Before.", **CREW)
        assert [event.name for event in await collect(stream, 1)] == ["raw_capture_changed"]
        await anyio.sleep(max(0.0, (until - app.clock()).total_seconds()) + 0.05)
        assert (await refused(member, **CREW)).message.startswith("unverified_membership")
        await keep(owner, "After.", **CREW)
        shown = await owner.call("create_entity", name="shown", sync=True)
        assert [event.data["id"] for event in await collect(stream, 1)] == [shown["id"]]


async def test_a_time_that_has_passed_takes_somebody_out(owner: Person, member: Person) -> None:
    space = await a_space(owner)
    await let_in(owner, space["id"], member)
    await let_in(owner, space["id"], member, expires_at="2020-01-01T00:00:00")
    assert (await refused(member, **CREW)).message.startswith("unverified_membership")


async def test_events_of_a_space_reach_its_members_while_it_is_active(owner: Person, member: Person) -> None:
    app = owner.app
    space = await a_space(owner)
    async with app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as stream:
        await keep(owner, "Not for you.", **CREW)
        await let_in(owner, space["id"], member)
        kept = await keep(owner, **CREW)
        assert [event.data["id"] for event in await collect(stream, 1)] == [kept["id"]]
        await switch(owner, space["id"], "disabled")
        await switch(owner, space["id"], "active")
        again = await keep(owner, "Back.", **CREW)
        assert [event.data["id"] for event in await collect(stream, 1)] == [again["id"]]


async def test_a_preview_tells_what_a_member_would_read(owner: Person, member: Person, stranger: Person) -> None:
    space = await a_space(owner)
    kept = [await keep(owner, f"{WALRUS} {number}", **CREW) for number in range(3)]
    told = await preview(owner, space["id"], member.user_id)
    assert (told["allowed"], told["reason"]) == (True, "access_preview_allowed")
    assert told["policy_reasons"] == ["shared_access_verified"]
    assert told["visible_source_ids"] == [each["id"] for each in reversed(kept)]
    assert (told["denied_source_ids"], told["missing_source_ids"]) == ([], [])
    assert (told["redacted_count"], told["hidden_but_relevant_count"]) == (0, 0)
    assert (told["target_principal_type"], told["target_principal_id"]) == ("user", member.user_id)
    assert told["memory_space_ids"] == [space["id"]]
    assert len((await preview(owner, space["id"], "scout", "agent", limit=2))["visible_source_ids"]) == 2
    assert (await refused(member, **CREW)).message.startswith("unverified_membership")
    foreign = await preview(owner, space["id"], stranger.user_id)
    assert (foreign["allowed"], foreign["reason"]) == (False, "unverified_membership")
    assert foreign["visible_source_ids"] == []
    await switch(owner, space["id"], "disabled")
    closed = await preview(owner, space["id"], member.user_id)
    assert (closed["allowed"], closed["reason"]) == (False, "manually_disabled")
    assert (closed["visible_source_ids"], closed["denied_source_ids"]) == ([], [])
    audited = await in_thread(owner.app.ledger.audit.entries, AuditQuery(owner.organization_id, action="memory."))
    assert [each.draft.action for each in audited] == [
        "memory.access.preview", "memory.space.update", "memory.access.preview", *["memory.policy_deny"] * 2,
        *["memory.access.preview"] * 2, *["memory.remember"] * 3,
        "memory.space.create",
    ]  # fmt: skip
    assert audited[1].draft.details["state"] == "disabled"
    assert audited[6].draft.details["target_principal_id"] == member.user_id


async def test_a_preview_of_several_spaces_says_which_do_not_let_in(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    spaces = [await a_space(owner), await a_space(owner, "project", project), await a_space(owner, "private", None)]
    ids = [each["id"] for each in spaces]
    shared = await keep(owner, **CREW)
    of_project = await keep(owner, memory_scope="project", scope_key=project)
    own = await keep(owner)
    told = await preview(owner, ids[0], member.user_id, additional_space_ids=[*ids[1:], ids[1]])
    assert told["memory_space_ids"] == ids
    assert (told["allowed"], told["reason"]) == (False, "unverified_membership")
    assert told["policy_reasons"] == ["shared_access_verified", "unverified_membership", "principal_mismatch"]
    assert told["visible_source_ids"] == [shared["id"]]
    assert set(told["denied_source_ids"]) == {of_project["id"], own["id"]}
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_viewer")
    told = await preview(owner, ids[1], member.user_id)
    assert (told["allowed"], told["visible_source_ids"]) == (True, [of_project["id"]])
    mine = await preview(owner, ids[2], owner.user_id)
    assert (mine["reason"], mine["policy_reasons"]) == ("access_preview_allowed", ["private_principal_bound"])
    assert mine["visible_source_ids"] == [own["id"]]


async def test_a_preview_counts_hidden_shared_records_and_no_private_ones(
    app: App, owner: Person, member: Person
) -> None:
    admin = await person(app, "admin", of=owner, role="admin")
    shared, delegated = await a_space(owner), await a_space(owner, "delegated", "bot")
    for place in (CREW, {"memory_scope": "delegated", "scope_key": "bot"}):
        for number in range(2):
            await keep(owner, f"{WALRUS} {number}", **place)
    own = await a_space(admin, "private", None)
    await keep(member, "My walrus.")
    await keep(owner, "My own walrus.")
    told = await preview(admin, shared["id"], member.user_id, additional_space_ids=[delegated["id"], own["id"]])
    assert (told["visible_source_ids"], told["denied_source_ids"]) == ([], [])
    assert told["hidden_but_relevant_count"] == 2
    assert told["metadata"]["source_count"] == 0


@pytest.mark.parametrize("bad", ["", "nonsense", "raw_memory_1"])
async def test_ids_of_other_spaces_are_ids_of_spaces(owner: Person, bad: str) -> None:
    space = await a_space(owner)
    if bad:
        with pytest.raises(InvalidRequest) as error:
            await preview(owner, space["id"], "scout", "agent", additional_space_ids=[bad])
        assert (error.value.code, error.value.message) == ("invalid_memory_space_id",) * 2
    with pytest.raises(NotFound, match="memory_space_not_found"):
        await preview(owner, space["id"], "scout", "agent", additional_space_ids=[str(uuid4())])


@pytest.mark.parametrize(
    ("key", "refusal"),
    [({"scopes": ["api:write"]}, None), ({"scopes": ["api:read"]}, "api:write"), ({"narrowed": True}, "narrowed")],
)
async def test_keys_that_may_write_manage_spaces(owner: Person, key: dict[str, Any], refusal: str | None) -> None:
    space = await a_space(owner)
    wanted = {"scopes": ["api:write"], "memory_space_ids": [space["id"]]} if "narrowed" in key else key
    made = await owner.call("create_api_key", name="k", **wanted)
    program = replace(owner, signed=replace(owner.signed, access_token=made["api_key"]))
    for operation, fields in (
        ("create_memory_space", {"name": "x"}),
        ("update_memory_space", {"space_id": space["id"], "name": "x"}),
        ("put_memory_space_member", {"space_id": space["id"], "principal_type": "agent", "principal_id": "x"}),
    ):
        if refusal:
            await program.refused(operation, Forbidden, match=refusal, **fields)
        else:
            assert (await program.call(operation, **fields))["id"]
