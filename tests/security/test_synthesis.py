"""Documents: who may ask for one, and that none tells what its reader may not know."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.people import Person, caught_up, person
from tests.security.harness import World
from tests.security.test_rights import agent
from tests.tools.synthesis.world import GOAL, keep, plan
from tests.tools.synthesis.world import world as records

pytestmark = pytest.mark.anyio

PATHS = ("/api/synthesis/plan", "/api/synthesis/draft")
TOOLS = ("synthesis_plan", "synthesis_verify", "synthesis_draft")


async def key_of(world: World, ada: Person, *scopes: str, **fields: Any) -> str:
    body = {"name": "k", "scopes": list(scopes), **fields}
    return str((await world.post("/api/auth/api-keys", body, ada.token)).json()["api_key"])


async def test_a_key_that_only_reads_is_refused_everywhere(world: World, ada: Person) -> None:
    key = await key_of(world, ada, "mcp", "api:read")
    for path in PATHS:
        refused = await world.post(path, {"goal": GOAL}, key)
        assert refused.status_code == 403
        assert "insufficient_api_scope" in refused.json()["message"]
        assert refused.json()["details"]["expected"] == "api:write"
    assert (await world.send("GET", "/api/synthesis/handbook", token=key)).status_code == 403
    assert not any([await agent(world, key, tool, goal=GOAL) for tool in TOOLS])


async def test_a_key_that_writes_is_let_in(world: World, ada: Person) -> None:
    key = await key_of(world, ada, "mcp", "api:write")
    assert [(await world.post(path, {"goal": GOAL}, key)).status_code for path in PATHS] == [200, 200]
    assert all([await agent(world, key, tool, goal=GOAL) for tool in TOOLS])


async def test_what_a_team_or_project_withholds_is_counted_and_not_shown(owner: Person) -> None:
    insider = await person(owner.app, "insider", of=owner, role="member")
    outsider = await person(owner.app, "outsider", of=owner, role="member")
    await records(owner)
    before = [pack["hidden_count"] for pack in (await plan(outsider))["source_packs"]]
    team = (await owner.call("create_team", name="Core"))["id"]
    await owner.call("add_team_member", team_id=team, user_id=insider.user_id)
    private = await keep(owner, "P", "project", metadata={"visibility": "private"})
    await keep(insider, "Charge a passenger's card twice, says the team", "decision", GOAL,
               metadata={"memory_scope": "team", "scope_key": team})  # fmt: skip
    await keep(owner, "Charge a passenger's card twice, says the project", "rule", GOAL,
               metadata={"project_id": private})  # fmt: skip
    await caught_up(owner)
    run = await plan(outsider)
    after = [pack["hidden_count"] for pack in run["source_packs"]]
    assert [now - then for now, then in zip(after, before, strict=True)] == [0, 2, 0, 0]
    assert "says the" not in json.dumps(run)
    made = await owner.call("create_api_key", name="k", scopes=["api:write"], project_ids=[private])
    narrowed = replace(owner, signed=replace(owner.signed, access_token=made["api_key"]))
    seen = await plan(narrowed)
    assert {pack["hidden_count"] for pack in seen["source_packs"]} == {0}, "nothing outside of its project exists"
    assert "says the team" not in json.dumps(seen)
    assert "says the project" in json.dumps(seen)


async def test_an_answer_is_not_replayed_once_a_source_is_out_of_sight(world: World, ada: Person) -> None:
    bob = await world.person("bob", of=ada, role="member")
    project = await keep(ada, "P", "project")
    await keep(ada, "Charge cards once", "decision", GOAL, metadata={"project_id": project})
    await caught_up(ada)
    body, once = {"goal": GOAL}, {"Idempotency-Key": "a-draft"}
    first = await world.post(PATHS[1], body, bob.token, **once)
    assert "Charge cards once" in first.text
    await ada.call("update_entity", entity_id=project, metadata={"visibility": "private"})
    again = await world.post(PATHS[1], body, bob.token, **once)
    assert "Charge cards once" not in again.text
