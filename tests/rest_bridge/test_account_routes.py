from collections.abc import AsyncIterator
from typing import Any

import pytest

from rest_bridge.application import build_asgi
from tests.people import PASSWORD
from tests.rest_bridge.harness import Client, Person, assert_envelope, bearer, client_of, log_in, sign_up
from tools.app import App

pytestmark = pytest.mark.anyio

NEW = "another fine password"


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    if app.ledger.people.first_admin() is None:
        sign_up(app)  # The first user is the server's admin, and stays.
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def grace(client: Client, app: App) -> dict[str, Any]:
    client.cookies.clear()
    email = f"{app.new_id('grace')}@example.org"
    made = await client.post("/api/auth/local/signup", json={"email": email, "password": PASSWORD, "name": "Grace"})
    client.cookies.clear()
    return dict(made.json())


async def test_logging_out_ends_the_session_and_clears_cookies(client: Client, grace: dict[str, Any]) -> None:
    answer = await client.post("/api/auth/logout", headers=bearer(grace))
    assert (answer.status_code, answer.content) == (204, b"")
    assert [line.partition("=")[0] for line in answer.headers.get_list("set-cookie")] == [
        "engrain_access_token",
        "engrain_refresh_token",
    ]
    assert all("Max-Age=0" in line for line in answer.headers.get_list("set-cookie"))
    assert_envelope(await client.get("/api/auth/me", headers=bearer(grace)), 401, "authentication_required")
    spent = await client.post("/api/auth/refresh", json={"refresh_token": grace["refresh_token"]})
    assert_envelope(spent, 401, "authentication_required")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}], ids=["nothing", "nonsense"])
async def test_logging_out_without_a_session_is_fine(client: Client, headers: dict[str, str]) -> None:
    assert (await client.post("/api/auth/logout", headers=headers)).status_code == 204


async def test_the_refresh_cookie_logs_out_unless_cross_site(client: Client, grace: dict[str, Any]) -> None:
    held = {"Cookie": f"engrain_refresh_token={grace['refresh_token']}"}
    foreign = await client.post("/api/auth/logout", headers={**held, "Origin": "https://evil.example"})
    assert_envelope(foreign, 403, "cross_origin_refused")
    assert (await client.get("/api/auth/me", headers=bearer(grace))).status_code == 200
    assert (await client.post("/api/auth/logout", headers=held)).status_code == 204
    assert (await client.get("/api/auth/me", headers=bearer(grace))).status_code == 401


async def test_a_new_password_ends_all_sessions_and_leaves_api_keys(client: Client, grace: dict[str, Any]) -> None:
    email = grace["user"]["email"]
    other = (await log_in(client, email, PASSWORD)).json()
    body = {"current_password": PASSWORD, "new_password": NEW}
    made = {"name": "k", "scopes": ["api:read"]}
    key = (await client.post("/api/auth/api-keys", json=made, headers=bearer(grace))).json()["api_key"]
    changed = await client.post("/api/users/me/password", json=body, headers=bearer(grace))
    assert changed.status_code == 204
    assert changed.headers.get_list("set-cookie") == [
        f'engrain_{name}_token=""; HttpOnly; Max-Age=0; Path=/; SameSite=Lax' for name in ("access", "refresh")
    ]
    for each in (grace, other):
        assert (await client.get("/api/auth/me", headers=bearer(each))).status_code == 401
        spent = await client.post("/api/auth/refresh", json={"refresh_token": each["refresh_token"]})
        assert_envelope(spent, 401, "authentication_required")
    assert (await client.get("/api/entities", headers={"Authorization": f"Bearer {key}"})).status_code == 200
    assert (await log_in(client, email, PASSWORD)).status_code == 401
    assert (await log_in(client, email, NEW)).status_code == 200


async def test_a_wrong_current_password_changes_nothing(client: Client, grace: dict[str, Any]) -> None:
    body = {"current_password": "wrong one", "new_password": NEW}
    answer = await client.post("/api/users/me/password", json=body, headers=bearer(grace))
    assert assert_envelope(answer, 400, "invalid_current_password")["details"]["field"] == "body.current_password"
    short = await client.post(
        "/api/users/me/password", json={"current_password": PASSWORD, "new_password": "short"}, headers=bearer(grace)
    )
    assert_envelope(short, 422, "validation_error")
    assert (await log_in(client, grace["user"]["email"], PASSWORD)).status_code == 200


async def test_sessions_are_listed_and_ended_by_their_user_only(
    client: Client, grace: dict[str, Any], app: App
) -> None:
    other = (await log_in(client, grace["user"]["email"], PASSWORD)).json()
    listed = (await client.get("/api/users/me/sessions", headers=bearer(grace))).json()["sessions"]
    assert [session["is_current"] for session in listed] == [False, True]
    path = f"/api/users/me/sessions/{listed[0]['id']}"
    assert_envelope(await client.delete(path, headers=sign_up(app).bearer), 404, "not_found")
    ended = await client.delete(path, headers=bearer(grace))
    assert (ended.status_code, ended.json()) == (200, {"success": True})
    assert (await client.get("/api/auth/me", headers=bearer(other))).status_code == 401
    assert_envelope(await client.delete(path, headers=bearer(grace)), 404, "not_found")


async def test_people_describe_themselves(client: Client, ada: Person) -> None:
    picture = "https://example.org/ada.png"
    me = await client.patch("/api/auth/me", json={"name": " Ada L. ", "avatar_url": picture}, headers=ada.bearer)
    assert (me.json()["user"]["name"], me.json()["user"]["avatar_url"]) == ("Ada L.", picture)
    profile = await client.patch(
        "/api/users/me/profile", json={"bio": "Counts.", "avatar_url": None}, headers=ada.bearer
    )
    assert (profile.json()["bio"], profile.json()["avatar_url"]) == ("Counts.", None)
    assert (await client.get("/api/users/me/profile", headers=ada.bearer)).json() == profile.json()
    assert profile.json()["name"] == "Ada L."


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "invalid_request"), ({"email": "new@example.org"}, 400, "invalid_request"),
        ({"name": "  "}, 422, "validation_error"), ({"avatar_url": "javascript:alert(1)"}, 422, "validation_error"),
    ],
    ids=["nothing", "address", "blank", "script"],
)  # fmt: skip
async def test_what_is_no_profile_is_refused(
    client: Client, ada: Person, fields: dict[str, str], status: int, code: str
) -> None:
    assert_envelope(await client.patch("/api/auth/me", json=fields, headers=ada.bearer), status, code)


async def test_preferences_are_merged_and_bounded(client: Client, ada: Person) -> None:
    path = "/api/users/me/preferences"
    assert (await client.get(path, headers=ada.bearer)).json() == {"preferences": {}}
    await client.patch(path, json={"preferences": {"theme": "dark", "list": [1]}}, headers=ada.bearer)
    merged = await client.patch(path, json={"preferences": {"theme": None}}, headers=ada.bearer)
    assert merged.json() == {"preferences": {"theme": None, "list": [1]}}
    for key in ("a", "b"):
        large = await client.patch(path, json={"preferences": {key: "x" * 40_000}}, headers=ada.bearer)
    assert_envelope(large, 422, "validation_error")
    assert set((await client.get(path, headers=ada.bearer)).json()["preferences"]) == {"theme", "list", "a"}


async def test_a_deleted_account_is_gone_with_its_organization(client: Client, grace: dict[str, Any], app: App) -> None:
    deleted = await client.delete("/api/users/me", headers=bearer(grace))
    assert deleted.status_code == 202
    assert len(deleted.headers.get_list("set-cookie")) == 2
    assert (await client.get("/api/auth/me", headers=bearer(grace))).status_code == 401
    assert (await log_in(client, grace["user"]["email"], PASSWORD)).status_code == 401
    assert app.ledger.people.organization(grace["organization"]["id"]) is None


async def test_the_last_owner_of_a_shared_organization_stays(client: Client, app: App) -> None:
    owner, member = sign_up(app), sign_up(app)
    app.ledger.people.add_membership(member.user_id, owner.organization_id, "member")
    assert_envelope(await client.delete("/api/users/me", headers=owner.bearer), 409, "conflict")
    assert (await client.get("/api/auth/me", headers=owner.bearer)).status_code == 200
    app.ledger.people.remove_member(owner.organization_id, member.user_id)
    assert (await client.delete("/api/users/me", headers=owner.bearer)).status_code == 202
    client.cookies.clear()
    assert app.ledger.people.organization(owner.organization_id) is None


async def test_a_shared_personal_organization_keeps_its_owner(client: Client, app: App, grace: dict[str, Any]) -> None:
    home, other = grace["organization"], sign_up(app)
    app.ledger.people.add_membership(other.user_id, home["id"], "owner")
    refused = await client.delete("/api/users/me", headers=bearer(grace))
    assert "Remove its other members first" in assert_envelope(refused, 409, "conflict")["remediation"]
    members = f"/api/orgs/{home['slug']}/members"
    for method, body in (("DELETE", None), ("PATCH", {"role": "viewer"})):
        path = f"{members}/{grace['user']['id']}"
        put_out = await client.request(method, path, json=body, headers=other.bearer)
        assert_envelope(put_out, 409, "conflict")
    assert (await client.delete(f"{members}/{other.user_id}", headers=bearer(grace))).status_code == 200
    assert (await client.delete("/api/users/me", headers=bearer(grace))).status_code == 202
    client.cookies.clear()


async def test_everybody_may_ask_how_to_sign_in(client: Client) -> None:
    answer = await client.get("/api/auth/providers")
    assert answer.json() == {"local_auth_enabled": True, "break_glass_enabled": False, "providers": []}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/api/auth/me", {"name": "Mallory"}), ("PATCH", "/api/users/me/profile", {"bio": "x"}),
        ("PATCH", "/api/users/me/preferences", {"preferences": {"a": 1}}),
        ("POST", "/api/users/me/password", {"current_password": PASSWORD, "new_password": NEW}),
        ("GET", "/api/users/me/sessions", None), ("DELETE", "/api/users/me/sessions/x", None),
        ("DELETE", "/api/users/me", None), ("GET", "/api/orgs", None), ("POST", "/api/orgs", {"name": "Mine"}),
        ("DELETE", "/api/orgs/nowhere", None), ("POST", "/api/orgs/nowhere/members", {"user_id": "x"}),
        ("POST", "/api/orgs/nowhere/invitations", {"email": "x@example.org"}),
        ("POST", "/api/invitations/x/accept", {}),
    ],
)  # fmt: skip
async def test_keys_manage_no_people(
    client: Client, ada: Person, method: str, path: str, body: dict[str, Any] | None
) -> None:
    scopes = {"name": "k", "scopes": ["api:read", "api:write"]}
    key = (await client.post("/api/auth/api-keys", json=scopes, headers=ada.bearer)).json()["api_key"]
    answer = await client.request(method, path, json=body, headers={"Authorization": f"Bearer {key}"})
    assert_envelope(answer, 403, "forbidden")
    assert (await client.get("/api/auth/me", headers=ada.bearer)).json()["user"]["name"] == "Ada"


@pytest.mark.parametrize("body", [{}, {"refresh_token": None}], ids=["absent", "null"])
async def test_a_refresh_without_a_token_is_not_signed_in(client: Client, body: dict[str, None]) -> None:
    client.cookies.clear()
    assert_envelope(await client.post("/api/auth/refresh", json=body), 401, "authentication_required")
