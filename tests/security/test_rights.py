"""Rights that a credential does not have are not had by any detour."""

from dataclasses import replace
from itertools import chain, combinations
from typing import Any, get_args

import pytest

from auth.principal import Scope
from stores.errors import EngrainError
from tests.people import Person
from tests.rest_bridge.test_mcp_mount import answer_in, call
from tests.security.harness import AGENT, World, bearer
from tools.catalogue import OPERATIONS
from tools.frame.execute import require_rights
from tools.frame.operation import READERS, Operation
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

SCOPES: tuple[Scope, ...] = get_args(Scope)
SETS = list(chain.from_iterable(combinations(SCOPES, size) for size in (1, 2, 3)))
READ_LIKE = {
    *("search", "context", "explore", "temporal", "recall"),
    *("preview_memory_space_access", "preview_promotion", "preview_correction", "preview_share", "job_status"),
}
"""Operations that read although they are sent with POST."""


async def agent(world: World, token: str, tool: str, **arguments: Any) -> bool:
    headers = dict([*AGENT.items(), *bearer(token)])
    answer = await world.http.post("/mcp", json=call(tool, **arguments), headers=headers)
    return answer.status_code == 200 and not answer_in(answer)["result"].get("isError")


@pytest.mark.parametrize("scopes", SETS, ids="+".join)
async def test_a_key_opens_what_its_scopes_name_on_each_surface_and_nothing_else(
    world: World, ada: Person, scopes: tuple[str, ...]
) -> None:
    body = {"name": "k", "scopes": list(scopes)}
    key = (await world.post("/api/auth/api-keys", body, ada.token)).json()["api_key"]
    reads, writes = bool({"api:read", "api:write"} & set(scopes)), "api:write" in scopes
    agents = "mcp" in scopes
    found = {
        "read": (await world.send("GET", "/api/entities", token=key)).status_code == 200,
        "read with POST": (await world.post("/api/search", {"query": "x"}, key)).status_code == 200,
        "write": (await world.post("/api/entities", {"name": "n"}, key)).status_code == 201,
        "tool that reads": await agent(world, key, "explore"),
        "tool that writes": await agent(world, key, "add", title="t", content="c"),
        "socket": (await world.ask("WebSocket", bearer(key))).admitted,
        "account": (await world.send("GET", "/api/users/me/sessions", token=key)).status_code == 200,
        "another key": (await world.post("/api/auth/api-keys", {"name": "k"}, key)).status_code == 200,
    }
    assert found == {
        "read": reads, "read with POST": reads, "write": writes, "tool that reads": agents,
        "tool that writes": agents and (writes or scopes == ("mcp",)), "socket": reads, "account": False,
        "another key": False,
    }  # fmt: skip


def test_what_changes_something_needs_the_scope_to_write() -> None:
    changing = [each for each in OPERATIONS if each.route is not None and each.route.method != "GET"]
    assert {each.name for each in changing if each.scope == "read" and each.roles is not None} == READ_LIKE


def test_what_only_agents_can_call_is_covered_by_scopes_as_well() -> None:
    tools = [each for each in OPERATIONS if each.tool is not None]
    odd = {each.name for each in tools if each.tool and (each.scope == "read") != each.tool.read_only}
    assert odd == {"synthesis_plan", "synthesis_verify"}
    assert {each.scope for each in OPERATIONS if each.name.startswith("synthesis")} == {"write"}


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.roles is not None], ids=lambda op: op.name)
async def test_no_operation_of_the_catalogue_goes_without_its_scope(
    world: World, ada: Person, operation: Operation
) -> None:
    principal = await in_thread(world.app.accounts.authenticate, ada.token)
    needed = {"api:read", "api:write"} if operation.scope == "read" else {"api:write"}
    for scopes in SETS:
        held = replace(principal, scopes=frozenset(scopes))
        if needed & set(scopes):
            require_rights(operation, held)
        else:
            with pytest.raises(EngrainError, match="insufficient_api_scope"):
                require_rights(operation, held)
    for role in READERS - (operation.roles or frozenset()):
        with pytest.raises(EngrainError, match=r"Your role is|insufficient_org_role"):
            require_rights(operation, replace(principal, role=role))


async def test_an_idempotency_key_is_ones_own(world: World, ada: Person, eve: Person) -> None:
    bob = await world.person("bob", of=ada, role="member")
    body, once = {"name": "n", "sync": True}, {"Idempotency-Key": "the-same"}
    made = [await world.post("/api/entities", body, each.token, **once) for each in (ada, bob, eve)]
    assert len({answer.json()["id"] for answer in made}) == 3
    assert not [answer for answer in made if "idempotency-replayed" in answer.headers]
    again = await world.post("/api/entities", body, ada.token, **once)
    assert again.headers["idempotency-replayed"] == "true"


async def test_an_answer_is_not_replayed_to_somebody_who_may_no_longer_have_it(world: World, ada: Person) -> None:
    bob = await world.person("bob", of=ada, role="member")
    body, once = {"name": "n", "sync": True}, {"Idempotency-Key": "later"}
    assert (await world.post("/api/entities", body, bob.token, **once)).status_code == 201
    path = f"/api/orgs/{ada.signed.identity.organization.slug}/members/{bob.user_id}"
    assert (await world.send("PATCH", path, {"role": "viewer"}, ada.token)).status_code == 200
    assert (await world.post("/api/entities", body, bob.token, **once)).status_code == 403


BOAST = {
    "id": "00000000-0000-4000-8000-000000000000", "user_id": "00000000-0000-4000-8000-000000000000", "is_admin": True,
    "role": "owner", "org_role": "owner", "roles": ["owner"], "scopes": ["api:write"], "is_personal": True,
    "password_hash": "x", "created_at": "1999-01-01T00:00:00Z",
}  # fmt: skip


async def test_signing_up_gives_no_more_than_an_account(world: World, ada: Person) -> None:
    email = f"{world.app.new_id('mallory')}@example.org"
    fields = {**BOAST, "organization_id": ada.organization_id, "org": ada.organization_id, "session_id": "mine"}
    made = (
        await world.post("/api/auth/local/signup", {**fields, "email": email, "password": "long enough", "name": "M"})
    ).json()
    me = (await world.send("GET", "/api/auth/me", token=made["access_token"])).json()
    assert (me["user"]["is_admin"], me["user"]["id"] == BOAST["id"]) == (False, False)
    assert me["organization"]["id"] != ada.organization_id
    listed = (await world.send("GET", "/api/orgs", token=made["access_token"])).json()["orgs"]
    assert [each["slug"] for each in listed] == [f"u-{me['user']['id']}"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "/api/auth/me"), ("PATCH", "/api/users/me/profile"), ("PATCH", "/api/users/me/preferences")],
)
async def test_describing_oneself_changes_nothing_else(world: World, ada: Person, method: str, path: str) -> None:
    bob = await world.person("bob", of=ada, role="viewer")
    fields = {**BOAST, "name": "B", "email": ada.email, "organization_id": ada.organization_id, "preferences": BOAST}
    assert (await world.send(method, path, fields, bob.token)).status_code == 200
    me = (await world.send("GET", "/api/auth/me", token=bob.token)).json()
    assert (me["user"]["is_admin"], me["user"]["id"], me["user"]["email"]) == (False, bob.user_id, bob.email)
    assert me["org_role"] == "viewer"


async def test_a_record_says_of_itself_only_what_is_true(world: World, ada: Person, eve: Person) -> None:
    forged = {"principal_id": ada.user_id, "organization_id": ada.organization_id, "scope_key": "x"}
    fields = {**BOAST, **forged, "revision": 99, "visibility": "organization", "created_by": ada.user_id}
    made = await world.post("/api/entities", {**fields, "name": "n", "metadata": forged, "sync": True}, eve.token)
    assert made.status_code == 201
    record = made.json()["id"]
    assert record != BOAST["id"]
    assert (await world.send("GET", f"/api/entities/{record}", token=ada.token)).status_code == 404
    shown = (await world.send("GET", f"/api/entities/{record}", token=eve.token)).text
    assert ada.user_id not in shown
    assert ada.organization_id not in shown
    change = {"metadata": forged, "organization_id": ada.organization_id}
    assert (await world.send("PATCH", f"/api/entities/{record}", change, eve.token)).status_code == 200
    assert (await world.send("GET", f"/api/entities/{record}", token=ada.token)).status_code == 404
    assert ada.organization_id not in (await world.send("GET", f"/api/entities/{record}", token=eve.token)).text


async def test_reading_ignores_named_organizations(world: World, ada: Person, eve: Person) -> None:
    await world.post("/api/entities", {"name": "kestrel", "sync": True}, ada.token)
    named = {"organization_id": ada.organization_id, "org": ada.organization_id, "principal_id": ada.user_id}
    found = await world.post("/api/search", {"query": "kestrel", **named}, eve.token, X_Organization_Id="x")
    assert (found.status_code, found.json()["total"]) == (200, 0)
    query = "&".join(f"{name}={value}" for name, value in named.items())
    listed = await world.send("GET", f"/api/entities?{query}", token=eve.token, X_Org=ada.organization_id)
    assert listed.json()["total"] == 0
    assert not await agent(world, eve.token, "search", query="kestrel", organization_id=ada.organization_id)


async def test_making_a_key_or_an_organization_makes_it_for_oneself(world: World, ada: Person, eve: Person) -> None:
    boast = {**BOAST, "user_id": ada.user_id, "organization_id": ada.organization_id, "name": "n"}
    key = (await world.post("/api/auth/api-keys", {**boast, "scopes": ["api:read"]}, eve.token)).json()
    me = (await world.send("GET", "/api/auth/me", token=key["api_key"])).json()
    assert (me["user"]["id"], me["organization"]["id"]) == (eve.user_id, eve.organization_id)
    made = (await world.post("/api/orgs", boast, eve.token)).json()
    described = await world.send("GET", f"/api/orgs/{made['organization']['slug']}", token=made["access_token"])
    assert described.json()["organization"]["is_personal"] is False
    assert described.json()["organization"]["id"] != ada.organization_id


@pytest.mark.parametrize("role", ["admin", "member", "viewer"])
async def test_nobody_raises_oneself(world: World, ada: Person, role: Any) -> None:
    bob = await world.person("bob", of=ada, role=role)
    slug = ada.signed.identity.organization.slug
    for body in ({"role": "owner"}, {"role": "owner", "org_role": "owner", "user_id": bob.user_id}):
        refused = await world.send("PATCH", f"/api/orgs/{slug}/members/{bob.user_id}", body, bob.token)
        assert refused.status_code == 403
    invited = await world.post(f"/api/orgs/{slug}/invitations", {"email": "x@example.org", "role": "owner"}, bob.token)
    assert invited.status_code == 403
    assert (await world.send("GET", "/api/auth/me", token=bob.token)).json()["org_role"] == role
