from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rest_bridge.application import build_asgi
from stores.ledger import AuditQuery
from stores.records import Organization
from tests.rest_bridge.harness import BASE, Client, Clock, Person, assert_envelope, client_of, settings_at, sign_up
from tools.app import App, open_app
from tools.people.device import ALPHABET, GRANT_TYPE
from tools.runtime.log_ring import LogRing

pytestmark = pytest.mark.anyio

START, TOKEN, VERIFY = "/api/auth/device", "/api/auth/device/token", "/api/auth/device/verify"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str, clock: Clock) -> AsyncIterator[App]:
    settings = settings_at(tmp_path_factory.mktemp("data"))
    async with open_app(settings, logs=LogRing(), clock=clock) as app:
        sign_up(app)
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("ledger.sqlite*"))


async def start(client: Client, name: str = "engrain on laptop") -> dict[str, Any]:
    answer = await client.post(START, json={"client_name": name}, headers={"User-Agent": "engrain/1"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def ask(client: Client, device: dict[str, Any]) -> httpx2.Response:
    body = {"grant_type": GRANT_TYPE, "device_code": device["device_code"]}
    return await client.post(TOKEN, json=body, headers={"User-Agent": "engrain/1"})


async def decide(client: Client, person: Person, device: dict[str, Any], **fields: Any) -> httpx2.Response:
    body = {"user_code": device["user_code"], "approve": True, **fields}
    return await client.post(VERIFY, json=body, headers=person.bearer)


async def test_a_program_is_let_in_by_a_person(client: Client, ada: Person, app: App, clock: Clock) -> None:
    device = await start(client)
    assert device["verification_uri"] == f"{BASE}/device"
    assert device["verification_uri_complete"] == f"{BASE}/device?user_code={device['user_code']}"
    assert (device["expires_in"], device["interval"]) == (600, 5)
    assert_envelope(await ask(client, device), 400, "authorization_pending")

    shown = await client.get(VERIFY, params={"user_code": device["user_code"]}, headers=ada.bearer)
    assert shown.status_code == 200
    said = shown.json()
    assert (said["user_code"], said["client_name"]) == (device["user_code"], "engrain on laptop")
    assert (said["address"], said["user_agent"]) == ("127.0.0.1", "engrain/1")

    decided = await decide(client, ada, device)
    assert (decided.json()["approved"], decided.json()["organization"]["id"]) == (True, ada.organization_id)
    clock.now += timedelta(seconds=6)
    entered = await ask(client, device)
    assert entered.status_code == 200, entered.text
    tokens = entered.json()
    assert (tokens["user"]["id"], tokens["organization"]["id"]) == (ada.user_id, ada.organization_id)
    assert (tokens["token_type"], tokens["expires_in"]) == ("bearer", 3600)
    assert "set-cookie" not in entered.headers

    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    listed = (await client.get("/api/users/me/sessions", headers=bearer)).json()["sessions"]
    (current,) = [session for session in listed if session["is_current"]]
    assert (current["provider"], current["user_agent"], current["ip_address"]) == ("device", "engrain/1", "127.0.0.1")
    rotated = await client.post("/api/auth/refresh", json={"refresh_token": tokens["refresh_token"]})
    assert rotated.status_code == 200

    assert_envelope(await ask(client, device), 400, "expired_token")
    assert_envelope(await decide(client, ada, device), 404, "not_found")
    entries = [entry.draft for entry in app.ledger.audit.entries(AuditQuery(ada.organization_id))]
    assert [(entry.action, entry.actor_id) for entry in entries] == [
        ("session.start", ada.user_id),
        ("device.approve", ada.user_id),
    ]
    assert entries[0].details["provider"] == "device"
    assert entries[1].details["client_name"] == "engrain on laptop"


async def test_forms_are_taken_as_well(client: Client, ada: Person) -> None:
    device = (await client.post(START, data={"client_name": "A form", "client_id": "ignored"})).json()
    assert (await decide(client, ada, device)).status_code == 200
    body = {"grant_type": GRANT_TYPE, "device_code": device["device_code"]}
    assert (await client.post(TOKEN, data=body)).json()["user"]["id"] == ada.user_id
    twice = httpx2.QueryParams([("grant_type", GRANT_TYPE), ("device_code", "a"), ("device_code", "b")])
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = await client.post(TOKEN, content=str(twice), headers=form)
    assert assert_envelope(refused, 422, "validation_error")["details"]["field"] == "body.device_code"
    assert_envelope(await client.post(TOKEN, content=b"device_code=\xff", headers=form), 422, "validation_error")


async def test_a_code_is_easy_to_type_and_kept_as_a_hash(client: Client, ada: Person, app: App) -> None:
    device = await start(client)
    left, dash, right = device["user_code"].partition("-")
    assert (len(left), dash, len(right)) == (4, "-", 4)
    assert set(left + right) <= set(ALPHABET)
    for typed in (f" {left} {right} ", (left + right).lower(), f"{left[:2]}-{left[2:]}.{right}"):
        shown = await client.get(VERIFY, params={"user_code": typed}, headers=ada.bearer)
        assert shown.json()["user_code"] == device["user_code"], typed
    stored = everything_in(app.settings.data_dir)
    for secret in (device["device_code"], device["user_code"], left + right):
        assert secret.encode() not in stored


async def test_a_program_that_is_turned_away_is_told_once(client: Client, ada: Person, app: App) -> None:
    device = await start(client)
    denied = await decide(client, ada, device, approve=False)
    assert denied.json() == {"approved": False, "client_name": "engrain on laptop", "organization": None}
    assert_envelope(await ask(client, device), 400, "access_denied")
    assert_envelope(await ask(client, device), 400, "expired_token")
    assert [entry.draft.action for entry in app.ledger.audit.entries(AuditQuery(ada.organization_id))] == [
        "device.deny"
    ]


async def test_a_program_that_asks_too_often_must_wait_longer(client: Client, ada: Person, clock: Clock) -> None:
    device = await start(client)
    assert_envelope(await ask(client, device), 400, "authorization_pending")
    assert_envelope(await ask(client, device), 400, "slow_down")
    await decide(client, ada, device)
    clock.now += timedelta(seconds=6)
    assert_envelope(await ask(client, device), 400, "slow_down")
    clock.now += timedelta(seconds=16)
    assert (await ask(client, device)).status_code == 200


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "undecided"])
async def test_a_code_holds_for_ten_minutes(client: Client, ada: Person, clock: Clock, approved: bool) -> None:
    device = await start(client)
    if approved:
        await decide(client, ada, device)
    clock.now += timedelta(minutes=10)
    assert_envelope(await ask(client, device), 400, "expired_token")
    assert_envelope(await decide(client, ada, device), 404, "not_found")
    assert_envelope(
        await client.get(VERIFY, params={"user_code": device["user_code"]}, headers=ada.bearer), 404, "not_found"
    )


async def test_the_session_is_that_of_whoever_approved_first(client: Client, ada: Person, app: App) -> None:
    grace = sign_up(app)
    device = await start(client)
    assert (await decide(client, grace, device)).status_code == 200
    assert_envelope(await decide(client, ada, device), 404, "not_found")
    assert (await ask(client, device)).json()["user"]["id"] == grace.user_id


async def test_the_person_chooses_one_of_its_organizations(client: Client, ada: Person, app: App) -> None:
    other = Organization("o-" + ada.user_id, "Other", "other-" + ada.user_id, False, app.clock())
    app.ledger.people.create_organization(other)
    device = await start(client)
    assert_envelope(await decide(client, ada, device, organization=other.slug), 404, "not_found")
    app.ledger.people.add_membership(ada.user_id, other.id, "viewer")
    assert (await decide(client, ada, device, organization=other.slug)).json()["organization"]["id"] == other.id
    tokens = (await ask(client, device)).json()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    me = (await client.get("/api/auth/me", headers=bearer)).json()
    assert (me["organization"]["slug"], me["org_role"]) == (other.slug, "viewer")


async def test_what_ends_all_sign_ins_ends_an_approval(client: Client, ada: Person, app: App) -> None:
    device = await start(client)
    await decide(client, ada, device)
    app.ledger.people.set_password_hash(ada.user_id, "new")
    assert_envelope(await ask(client, device), 400, "expired_token")


async def test_nobody_and_keys_decide_nothing(client: Client, ada: Person) -> None:
    device = await start(client)
    body = {"user_code": device["user_code"], "approve": True}
    made = {"name": "k", "scopes": ["mcp", "api:read", "api:write"]}
    key = (await client.post("/api/auth/api-keys", json=made, headers=ada.bearer)).json()["api_key"]
    held = {"Authorization": f"Bearer {key}"}
    for headers, status, code in (({}, 401, "authentication_required"), (held, 403, "forbidden")):
        assert_envelope(await client.post(VERIFY, json=body, headers=headers), status, code)
        assert_envelope(await client.post(VERIFY, json={**body, "approve": False}, headers=headers), status, code)
        shown = await client.get(VERIFY, params={"user_code": device["user_code"]}, headers=headers)
        assert_envelope(shown, status, code)
    assert_envelope(await ask(client, device), 400, "authorization_pending")


async def test_other_sites_decide_nothing_with_the_visitors_cookie(client: Client, ada: Person) -> None:
    device = await start(client)
    body = {"user_code": device["user_code"], "approve": True}
    cookie = {"Cookie": f"engrain_access_token={ada.token}"}
    for more in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert_envelope(await client.post(VERIFY, json=body, headers=cookie | more), 403, "cross_origin_refused")
    form = await client.post(VERIFY, data=body, headers=cookie | {"Origin": BASE})
    assert_envelope(form, 415, "unsupported_media_type")
    own = await client.post(VERIFY, json=body, headers=cookie | {"Origin": BASE, "Sec-Fetch-Site": "same-origin"})
    assert own.status_code == 200


@pytest.mark.parametrize("typed", ["BCDF-GHJK", "AEIO-UAEI", "BCDF", "x", "\uff22CDF-GHJK", "BCDF-GHJK" * 7])
async def test_a_wrong_code_is_unknown_whatever_is_wrong_with_it(client: Client, ada: Person, typed: str) -> None:
    shown = assert_envelope(await client.get(VERIFY, params={"user_code": typed}, headers=ada.bearer), 404, "not_found")
    decided = await client.post(VERIFY, json={"user_code": typed, "approve": True}, headers=ada.bearer)
    assert assert_envelope(decided, 404, "not_found")["message"] == shown["message"]


@pytest.mark.parametrize(
    ("method", "path", "tries", "status"),
    [("POST", START, 10, 200), ("POST", TOKEN, 60, 400), ("GET", VERIFY, 30, 404), ("POST", VERIFY, 10, 404)],
    ids=["start", "token", "look", "decide"],
)
async def test_tries_are_limited(client: Client, ada: Person, method: str, path: str, tries: int, status: int) -> None:
    fields = {
        START: {},
        TOKEN: {"grant_type": GRANT_TYPE, "device_code": "guess"},
        VERIFY: {"user_code": "BCDF-GHJK"} | ({"approve": True} if method == "POST" else {}),
    }[path]
    sent: dict[str, Any] = {"params": fields} if method == "GET" else {"json": fields}
    answers = [await client.request(method, path, headers=ada.bearer, **sent) for _ in range(tries + 1)]
    statuses = [answer.status_code for answer in answers]
    # A window may end in between, and then all of the next one are allowed.
    assert set(statuses) <= {status, 429}
    if statuses[-1] != 429:
        answers = [await client.request(method, path, headers=ada.bearer, **sent) for _ in range(tries + 1)]
    assert_envelope(answers[-1], 429, "rate_limited")
    assert int(answers[-1].headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"grant_type": "password", "device_code": "x"}, 400, "unsupported_grant_type"),
        ({"grant_type": GRANT_TYPE, "device_code": "x"}, 400, "expired_token"),
        ({"grant_type": GRANT_TYPE}, 422, "validation_error"),
        ({"device_code": "x"}, 422, "validation_error"),
    ],
    ids=["another grant", "guess", "no code", "no grant"],
)
async def test_what_is_no_question_is_refused(client: Client, fields: dict[str, str], status: int, code: str) -> None:
    answer = await client.post(TOKEN, json=fields)
    assert_envelope(answer, status, code)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "engrain\u202e", "a\nb", "zero\u200bwidth", 5])
async def test_a_program_has_a_name_that_can_be_read(client: Client, name: Any) -> None:
    assert_envelope(await client.post(START, json={"client_name": name}), 422, "validation_error")
    assert (await client.post(START, json={})).status_code == 200
