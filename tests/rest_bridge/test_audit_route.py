"""The audit log: what is written, who reads it, and what stands in nobody else's."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from auth.api_keys import KeyRequest
from rest_bridge.application import build_asgi
from stores.ledger import AuditDraft, AuditQuery
from tests.people import PASSWORD, mailed
from tests.rest_bridge.harness import Client, Person, assert_envelope, bearer, client_of, joined, log_in, sign_up
from tests.rest_bridge.test_mcp_mount import BOTH, call
from tools.app import App
from tools.catalogue import by_name
from tools.entities.create import AddRequest
from tools.frame.execute import execute
from tools.frame.operation import Call

pytestmark = pytest.mark.anyio

SETTINGS = {"rate_limit_enabled": False}
PATH = "/api/admin/audit"
AGENT = {"User-Agent": "probe/1.0"}


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app), headers=AGENT) as client:
        yield client


async def entries(client: Client, headers: dict[str, str], **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(PATH, headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["entries"])


async def actions(client: Client, headers: dict[str, str], **query: Any) -> list[str]:
    return [entry["action"] for entry in await entries(client, headers, **query)]


async def signed_up(client: Client, app: App) -> dict[str, Any]:
    body = {"email": f"{app.new_id('who')}@example.org", "password": PASSWORD, "name": "Grace"}
    answer = await client.post("/api/auth/local/signup", json=body)
    client.cookies.clear()
    assert answer.status_code == 201, answer.text
    return {**answer.json(), "email": body["email"]}


async def test_project_changes_are_audited_with_who_when_and_where(client: Client, app: App, ada: Person) -> None:
    body = {"name": "Moonshot", "content": "very secret", "entity_type": "project"}
    made = await client.post("/api/entities", json=body, headers=ada.bearer)
    one = f"/api/entities/{made.json()['id']}"
    change = {"name": "Sunshot", "metadata": {"status": "archived", "Moonshot key": 1}}
    changed = await client.patch(one, json=change, headers=ada.bearer)
    gone = await client.delete(one, headers=ada.bearer)
    found = await entries(client, ada.bearer, action="project.")
    assert [entry["action"] for entry in found] == ["project.delete", "project.update", "project.create"]
    for entry, answer in zip(found, (gone, changed, made), strict=True):
        assert entry["organization_id"] == ada.organization_id
        assert entry["target"] == made.json()["id"]
        assert entry["user"] == {"id": ada.user_id, "email": f"{ada.user_id}@example.com", "name": "Ada"}
        assert entry["request"] == {
            "request_id": answer.headers["x-request-id"], "address": "127.0.0.1", "user_agent": "probe/1.0",
            "api_key_id": None, "grant_id": None,
        }  # fmt: skip
    assert found[1]["details"] == {
        "status": "archived", "visibility": "org", "revision": 2, "changed": ["name", "metadata", "metadata.status"],
    }  # fmt: skip
    assert "shot" not in json.dumps(found)
    note = {"name": "no project", "entity_type": "note"}
    await client.post("/api/entities", json=note, headers=ada.bearer)
    refused = await client.delete(one, headers=ada.bearer)
    assert refused.status_code == 404
    assert len(await entries(client, ada.bearer)) == 3


async def test_sessions_are_audited_in_their_organization(client: Client, app: App, ada: Person) -> None:
    grace = await signed_up(client, app)
    home, user_id = bearer(grace), grace["user"]["id"]
    assert await actions(client, home) == ["session.start", "user.create"]
    assert (await log_in(client, grace["email"], "wrong")).status_code == 401
    assert (await log_in(client, "nobody-at-all@example.org", "wrong")).status_code == 401
    second = (await log_in(client, grace["email"])).json()
    await client.post("/api/auth/logout", headers=bearer(second))
    third = (await log_in(client, grace["email"])).json()
    spent = {"refresh_token": third["refresh_token"]}
    statuses = [(await client.post("/api/auth/refresh", json=spent)).status_code for _ in range(2)]
    client.cookies.clear()
    assert statuses == [200, 401]
    found = await entries(client, home, limit=6)
    assert [entry["action"] for entry in found] == [
        "session.reuse", "session.start", "session.end", "session.start", "session.refuse", "session.start",
    ]  # fmt: skip
    assert [entry["user"] and entry["user"]["id"] for entry in found] == [
        None, user_id, user_id, user_id, None, user_id,
    ]  # fmt: skip
    assert found[4]["target"] == user_id
    assert all(entry["request"]["user_agent"] == "probe/1.0" for entry in found)
    app.ledger.people.add_membership(user_id, ada.organization_id, "member")
    organization = app.ledger.people.organization(ada.organization_id)
    assert organization is not None
    await client.post(f"/api/orgs/{organization.slug}/switch", headers=home)
    client.cookies.clear()
    (entered,) = await entries(client, ada.bearer, user_id=user_id)
    assert (entered["action"], entered["details"]) == ("session.switch", {})


async def test_account_changes_are_in_the_personal_log(client: Client, app: App, ada: Person) -> None:
    grace = await signed_up(client, app)
    app.ledger.people.add_membership(grace["user"]["id"], ada.organization_id, "member")
    fresh = "another good password"
    for current in ("a guess", PASSWORD):
        body = {"current_password": current, "new_password": fresh}
        await client.post("/api/users/me/password", json=body, headers=bearer(grace))
    await client.post("/api/users/password/reset", json={"email": grace["email"]})
    await mailed(app)
    letter = max(app.mailer.folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns).read_text()
    token = re.findall(r"^[\w-]{43}$", letter, re.M)[0]
    confirmed = await client.post(
        "/api/users/password/reset/confirm", json={"token": token, "new_password": "yet another one"}
    )
    assert confirmed.status_code == 204
    again = (await log_in(client, grace["email"], "yet another one")).json()
    assert await actions(client, bearer(again), action="user.") == [
        "user.password_reset", "user.password_change", "user.password_refuse", "user.create",
    ]  # fmt: skip
    assert await actions(client, ada.bearer) == []
    everything = json.dumps(await entries(client, bearer(again)))
    for secret in (PASSWORD, fresh, "a guess", "yet another one", token, again["access_token"], again["refresh_token"]):
        assert secret not in everything


async def test_memberships_and_keys_are_audited_without_secrets(client: Client, app: App, ada: Person) -> None:
    guest, organization = sign_up(app), app.ledger.people.organization(ada.organization_id)
    assert organization is not None
    path = f"/api/orgs/{organization.slug}"
    invited = await client.post(f"{path}/invitations", json={"email": "new@example.org"}, headers=ada.bearer)
    token = invited.json()["invitation"]["accept_url"].split("/")[-2]
    await client.post(f"{path}/members", json={"user_id": guest.user_id}, headers=ada.bearer)
    await client.patch(f"{path}/members/{guest.user_id}", json={"role": "viewer"}, headers=ada.bearer)
    await client.delete(f"{path}/members/{guest.user_id}", headers=ada.bearer)
    made = (await client.post("/api/auth/api-keys", json={"name": "ci"}, headers=ada.bearer)).json()
    await client.post(f"/api/auth/api-keys/{made['id']}/revoke", headers=ada.bearer)
    await client.patch(path, json={"name": "Renamed"}, headers=ada.bearer)
    found = await entries(client, ada.bearer)
    assert [(entry["action"], entry["target"]) for entry in found] == [
        ("organization.update", ada.organization_id), ("api_key.revoke", made["id"]), ("api_key.create", made["id"]),
        ("member.remove", guest.user_id), ("member.role_change", guest.user_id), ("member.add", guest.user_id),
        ("invitation.create", invited.json()["invitation"]["id"]),
    ]  # fmt: skip
    assert found[4]["details"] == {"from": "member", "to": "viewer"}
    assert token not in json.dumps(found)
    assert made["api_key"] not in json.dumps(found)


async def test_admins_alone_read_it_and_only_that_of_their_organization(client: Client, app: App, ada: Person) -> None:
    admin, member, viewer = joined(app, ada, "admin"), joined(app, ada, "member"), joined(app, ada, "viewer")
    await client.post("/api/teams", json={"name": "Core"}, headers=admin.bearer)
    assert await actions(client, ada.bearer) == await actions(client, admin.bearer) == ["team.create"]
    for person in (member, viewer):
        assert_envelope(await client.get(PATH, headers=person.bearer), 403, "forbidden")
    assert_envelope(await client.get(PATH), 401, "authentication_required")
    assert await actions(client, sign_up(app).bearer) == []


async def test_keys_read_it_unless_narrowed_and_are_named(client: Client, app: App, ada: Person) -> None:
    def key(*project_ids: str) -> tuple[str, dict[str, str]]:
        wanted = KeyRequest("k", True, ("api:read", "api:write"), project_ids, None)
        draft = AuditDraft("api_key.create", None, ada.user_id)
        made, text = app.accounts.keys.create(app.accounts.authenticate(ada.token), wanted, draft)
        return made.id, {"Authorization": f"Bearer {text}"}

    key_id, headers = key()
    made = await client.post("/api/entities", json={"name": "P", "entity_type": "project"}, headers=headers)
    (entry,) = await entries(client, headers, action="project.create")
    assert entry["request"]["api_key_id"] == key_id
    _, narrowed = key(made.json()["id"])
    assert_envelope(await client.get(PATH, headers=narrowed), 403, "forbidden")
    assert_envelope(await client.get(PATH, headers=headers, params={"log": "server"}), 403, "forbidden")


async def test_agent_actions_are_audited_with_their_credential(client: Client, app: App, ada: Person) -> None:
    principal = app.accounts.authenticate(ada.token)
    granted = Call(replace(principal, session_id=None, grant_id="g1"))
    await execute(app, by_name["add"], granted, AddRequest(title="P", content="c", entity_type="project"))
    wanted, draft = KeyRequest("k", True, ("mcp", "api:write"), (), None), AuditDraft("x", None, ada.user_id)
    key, text = app.accounts.keys.create(principal, wanted, draft)
    headers = {**BOTH, "Authorization": f"Bearer {text}"}
    body = call("add", title="P", content="c", entity_type="project")
    assert (await client.post("/mcp", json=body, headers=headers)).status_code == 200
    by_key, by_grant = await entries(client, ada.bearer, action="project.create")
    assert (by_grant["request"]["grant_id"], by_grant["request"]["api_key_id"]) == ("g1", None)
    assert (by_key["request"]["api_key_id"], by_key["request"]["grant_id"]) == (key.id, None)
    assert (by_key["request"]["address"], by_key["request"]["user_agent"]) == ("127.0.0.1", "probe/1.0")
    assert by_key["request"]["request_id"].startswith("req_")


async def test_recalls_and_refusals_of_memories_are_audited(client: Client, app: App, ada: Person) -> None:
    grace, path = await signed_up(client, app), "/api/memory/raw"
    app.ledger.people.add_membership(grace["user"]["id"], ada.organization_id, "member")
    slug = app.ledger.people.organization(ada.organization_id).slug  # type: ignore[union-attr]
    headers = bearer((await client.post(f"/api/orgs/{slug}/switch", headers=bearer(grace))).json())
    client.cookies.clear()
    shared = {"raw_content": "walrus", "memory_scope": "organization"}
    kept = (await client.post(path, json=shared, params={"sync": True}, headers=ada.bearer)).json()["id"]
    for scope, status in (
        ({"memory_scope": "organization"}, 200), ({}, 200), ({"memory_scope": "team", "scope_key": "core"}, 403),
    ):  # fmt: skip
        asked = {"query": "walrus", **scope}
        assert (await client.post(f"{path}/recall", json=asked, headers=headers)).status_code == status
    await client.post(path, json={"raw_content": "x", "memory_scope": "project", "scope_key": "p"}, headers=headers)
    await client.post(path, json={"raw_content": "x", "memory_scope": "public"}, headers=headers)
    scoped = {"name": "x", "metadata": {"memory_scope": "team", "scope_key": "t"}}
    await client.post("/api/entities", json=scoped, headers=headers)
    found = await entries(client, ada.bearer, user_id=grace["user"]["id"], action="memory.")
    off = {"policy_allowed": False, "policy_reason": "scope_not_enabled"}
    assert [(each["action"], each["details"]) for each in found] == [
        ("memory.policy_deny", {"memory_scope": "team", **_verdict(False)}),
        ("memory.policy_deny", {"memory_scope": "public", "scope_key": None, **off}),
        ("memory.policy_deny", {"memory_scope": "project", "scope_key": "p", **_verdict(False)}),
        ("memory.policy_deny", {"memory_scope": "team", **_verdict(False)}),
        ("memory.recall", {"memory_scope": "organization", "scope_key": None, "source_ids": [kept], **_verdict(True)}),
    ], "a private recall is in the log of the own organization"
    home = app.accounts.home_of(grace["user"]["id"])
    (own,) = app.ledger.audit.entries(AuditQuery(home, action="memory.recall"))
    assert own.draft.details["organization_id"] == ada.organization_id


async def test_a_project_that_nobody_may_read_is_audited_wherever_it_is_named(client: Client, ada: Person) -> None:
    for path in ("context/pack", "synthesis/plan", "synthesis/draft", "search"):
        asked = {"goal": "walrus", "query": "walrus", "project": path}
        assert (await client.post(f"/api/{path}", json=asked, headers=ada.bearer)).status_code in (403, 404), path
    found = await entries(client, ada.bearer, action="memory.policy_deny")
    assert [each["details"] for each in reversed(found)] == [
        {"memory_scope": "project", "scope_key": path, **_verdict(False)}
        for path in ("context/pack", "synthesis/plan", "synthesis/draft", "search")
    ]


def _verdict(allowed: bool) -> dict[str, Any]:
    reason = "organization_access_verified" if allowed else "unverified_membership"
    return {"policy_allowed": allowed, "policy_reason": reason}


async def test_the_log_of_the_server_is_for_its_admins(client: Client, app: App, ada: Person) -> None:
    grace = await signed_up(client, app)
    await log_in(client, "nobody-at-all@example.org", "wrong")
    await client.delete("/api/users/me", headers=bearer(grace))
    client.cookies.clear()
    assert_envelope(await client.get(PATH, headers=ada.bearer, params={"log": "server"}), 403, "forbidden")
    admin = app.accounts.start(app.ledger.people.first_admin())
    headers = {"Authorization": f"Bearer {admin.access_token}"}
    newest, refused, *_ = await entries(client, headers, log="server")
    assert (newest["action"], newest["user"]) == (
        "user.delete",
        {"id": grace["user"]["id"], "email": None, "name": None},
    )
    assert (refused["action"], refused["user"], refused["target"]) == ("session.refuse", None, None)
    assert "nobody-at-all" not in json.dumps(refused)


async def test_filters_and_pages_hold_while_more_happens(client: Client, app: App, ada: Person) -> None:
    for number in range(7):
        app.ledger.audit.append(AuditDraft(f"deed.n{number}", ada.organization_id, ada.user_id))
    first = (await client.get(PATH, headers=ada.bearer, params={"limit": 3})).json()
    app.ledger.audit.append(AuditDraft("later.deed", ada.organization_id, "somebody"))
    pages = [first]
    while pages[-1]["has_more"]:
        query = {"limit": 3, "offset": pages[-1]["offset"] + 3, "end_time": first["end_time"]}
        pages.append((await client.get(PATH, headers=ada.bearer, params=query)).json())
    seen = [entry["action"] for page in pages for entry in page["entries"]]
    assert seen == [f"deed.n{number}" for number in range(6, -1, -1)]
    assert await actions(client, ada.bearer, user_id="somebody") == ["later.deed"]
    assert await actions(client, ada.bearer, action="deed.n4") == ["deed.n4"]
    assert await actions(client, ada.bearer, action="deed") == []
    at = (await entries(client, ada.bearer, action="deed.n5"))[0]["created_at"]
    assert await actions(client, ada.bearer, start_time=at) == ["later.deed", "deed.n6", "deed.n5"]
    assert len(await actions(client, ada.bearer, end_time=at)) == 5
    assert len(await actions(client, ada.bearer, start_time="1h")) == 8
    assert await actions(client, ada.bearer, start_time="2999-01-01") == []
    app.ledger.audit.append(AuditDraft("last.deed", ada.organization_id, ada.user_id, "note_1"))
    assert await actions(client, ada.bearer, resource="note_1") == ["last.deed"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"start_time": "yesterday"}, "query.start_time"), ({"end_time": "soon"}, "query.end_time"),
        ({"limit": 201}, "query.limit"), ({"limit": 0}, "query.limit"), ({"offset": -1}, "query.offset"),
        ({"log": "all"}, "query.log"),
    ],
)  # fmt: skip
async def test_a_wrong_filter_is_named(client: Client, ada: Person, query: dict[str, Any], field: str) -> None:
    refused = await client.get(PATH, headers=ada.bearer, params=query)
    assert assert_envelope(refused, 422, "validation_error")["details"]["field"] == field


async def test_a_sign_in_shows_from_where_it_came_and_went_on(client: Client, app: App, ada: Person) -> None:
    grace = await signed_up(client, app)
    app.ledger.people.add_membership(grace["user"]["id"], ada.organization_id, "member")
    organization = app.ledger.people.organization(ada.organization_id)
    assert organization is not None
    (session,) = (await client.get("/api/users/me/sessions", headers=bearer(grace))).json()["sessions"]
    assert (session["ip_address"], session["user_agent"]) == ("127.0.0.1", "probe/1.0")
    program = {"User-Agent": "Ünknown\t" + "x" * 600}
    moved = await client.post(
        f"/api/orgs/{organization.slug}/switch",
        headers=[(name, value.encode("latin-1")) for name, value in (bearer(grace) | program).items()],
    )
    client.cookies.clear()
    (session,) = (await client.get("/api/users/me/sessions", headers=bearer(moved.json()))).json()["sessions"]
    assert session["user_agent"] == "Ünknown" + "x" * 504
    assert session["ip_address"] == "127.0.0.1"
