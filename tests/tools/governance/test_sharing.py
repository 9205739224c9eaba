"""Sharing: listed first, all or nothing, refused across organizations by default, and corrected with its source."""

from dataclasses import replace

import pytest

from stores.errors import NotFound
from tests.people import Person, caught_up

pytestmark = pytest.mark.anyio

TEXT = "Deploys of Heron freeze on Friday at noon."


async def test_a_shared_memory_is_recalled_by_its_new_readers_and_follows_corrections(
    owner: Person, member: Person
) -> None:
    mine = (await owner.call("store_raw_memory", raw_content=TEXT, title="Freeze"))["id"]
    preview = await owner.call("preview_share", source_ids=[mine], target_scope="organization")
    assert (preview["allowed"], preview["reason"]) == (True, "share_preview_allowed")
    assert preview["input_scopes"] == [{"id": mine, "memory_scope": "private", "scope_key": owner.user_id}]
    shared = await owner.call("share_memories", source_ids=[mine], target_scope="organization")
    assert shared["applied"] is True
    (copy,) = shared["promoted_ids"]
    await caught_up(owner)
    recalled = await member.call("recall", query="When do deploys freeze?", memory_scope="organization")
    assert [each["id"] for each in recalled["memories"]] == [copy]
    again = await owner.call("share_memories", source_ids=[mine], target_scope="organization")
    assert again["promotions"] == [{"source_id": mine, "promoted_id": copy, "reason": "already_shared"}]
    await owner.call("correct_memory", source_id=mine, action="mark_wrong")
    await member.refused("get_capture", NotFound, capture_id=copy)
    seen = await owner.call("inspect_memory", source_id=mine)
    assert (seen["share_state"]["state"], len(seen["share_state"]["audit_event_ids"])) == ("shared", 2)


async def test_copies_of_copies_follow_and_the_log_of_their_readers_names_who_shared(
    owner: Person, member: Person
) -> None:
    mine = (await member.call("store_raw_memory", raw_content=TEXT))["id"]
    (copy,) = (await member.call("share_memories", source_ids=[mine], target_scope="organization"))["promoted_ids"]
    told = (await owner.call("memory_audit", derived_id=copy))["events"]
    assert [(each["user_id"], each["memory_scope"]) for each in told] == [(member.user_id, "organization")]
    assert mine not in str(told)
    copies = [copy]
    for name in range(5):
        key = (await owner.call("add", title=f"P{name}", content="", entity_type="project"))["id"]
        ask = {"source_ids": copies[-1:], "target_scope": "project", "target_scope_key": key}
        copies += (await owner.call("share_memories", **ask))["promoted_ids"]
    done = await member.call("correct_memory", source_id=mine, action="delete")
    assert done["affected_derived_ids"] == [copy]
    for each in copies:
        await owner.refused("get_capture", NotFound, capture_id=each)


async def test_one_refused_memory_refuses_all(owner: Person, member: Person) -> None:
    mine = (await member.call("store_raw_memory", raw_content=TEXT))["id"]
    theirs = (await owner.call("store_raw_memory", raw_content="Only mine."))["id"]
    ask = {"source_ids": [mine, theirs, "raw_memory_0"], "target_scope": "organization"}
    preview = await member.call("preview_share", **ask)
    assert (preview["allowed"], preview["reason"]) == (False, "source_not_found")
    assert (preview["visible_source_ids"], preview["missing_source_ids"]) == ([mine], [theirs, "raw_memory_0"])
    assert preview["denied_source_ids"] == preview["missing_source_ids"]
    assert preview["hidden_but_relevant_count"] == 0
    done = await member.call("share_memories", **ask)
    assert (done["applied"], done["promoted_ids"]) == (False, [])
    for verb in ("preview_share", "share_memories"):
        place = {"target_scope": "project", "target_scope_key": "project_0"}
        await member.refused(verb, NotFound, source_ids=[mine], **place)


async def test_others_memories_and_other_organizations_are_refused(
    owner: Person, member: Person, stranger: Person
) -> None:
    project = (await owner.call("add", title="Heron", content="", entity_type="project"))["id"]
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_contributor")
    scope = {"memory_scope": "project", "scope_key": project}
    kept = (await owner.call("store_raw_memory", raw_content=TEXT, **scope))["id"]
    wider = await member.call("preview_share", source_ids=[kept], target_scope="organization")
    assert (wider["allowed"], wider["reason"]) == (False, "principal_mismatch")
    (denied,) = (await owner.call("memory_audit", source_id=kept, policy_allowed=False))["events"]
    assert (denied["action"], denied["policy_reason"]) == ("memory.share.preview", "principal_mismatch")
    same = await owner.call("preview_share", source_ids=[kept], target_scope="project", target_scope_key=project)
    assert same["reason"] == "already_in_scope"
    away = await owner.call(
        "preview_share",
        source_ids=[kept],
        target_scope="organization",
        recipient_organization_id=stranger.organization_id,
    )
    assert (away["allowed"], away["reason"]) == (False, "cross_organization_denied")
    assert away["metadata"]["cross_organization"] is True
    unkeyed = await owner.call("preview_share", source_ids=[kept], target_scope="team")
    assert (unkeyed["allowed"], unkeyed["reason"]) == (False, "missing_scope_key")


async def test_where_it_is_allowed_a_member_shares_with_another_organization(owner: Person, stranger: Person) -> None:
    mine = (await owner.call("store_raw_memory", raw_content=TEXT))["id"]
    own = (await owner.call("create_organization", name="Egret"))["organization"]["id"]  # It ends the session here.
    owner = await owner.in_organization(owner.organization_id)
    ask = {"source_ids": [mine], "target_scope": "organization", "recipient_organization_id": own}
    assert (await owner.call("share_memories", **ask))["reason"] == "cross_organization_denied"
    settings = owner.app.settings.model_copy(update={"share_across_organizations": True})
    here = replace(owner, app=replace(owner.app, settings=settings))
    there = await here.in_organization(own)

    shared = await here.call("share_memories", **ask)
    again = await here.call("share_memories", **ask)

    (copy,) = shared["promoted_ids"]
    assert again["promotions"] == [{"source_id": mine, "promoted_id": copy, "reason": "already_shared"}]
    assert (await there.call("get_capture", capture_id=copy))["raw_content"] == TEXT
    told = (await there.call("memory_audit", derived_id=copy))["events"]
    assert [each["action"] for each in told] == ["memory.share.apply"] * 2
    assert mine not in str(told)
    await owner.refused("get_capture", NotFound, capture_id=copy)
    elsewhere = ask | {"recipient_organization_id": stranger.organization_id}
    assert (await here.call("share_memories", **elsewhere))["reason"] == "cross_organization_denied"
