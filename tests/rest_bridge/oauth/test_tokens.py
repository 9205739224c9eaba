"""What clients do without a browser: registering, exchanging, refreshing, revoking; and where their tokens open."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from auth.grants import CODE_LIFETIME
from rest_bridge.application import build_asgi
from rest_bridge.oauth import BODY_LIMIT
from stores.ledger import AuditQuery
from stores.records import Organization
from tests.people import Person, person
from tests.rest_bridge.harness import BASE, Clock, client_of, opened, settings_at
from tests.rest_bridge.oauth.flow import CALLBACK, CHALLENGE, VERIFIER, Flow, bearer, returned
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


def assert_refused(answer: httpx2.Response, error: str, status: int = 400) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["error"] == error, body
    assert body["error_description"]
    assert body["remediation"]
    assert body["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"
    return dict(body)


async def test_the_server_describes_itself_at_every_address_where_clients_look(flow: Flow) -> None:
    first = (await flow.browser.get("/.well-known/oauth-authorization-server")).json()
    assert (await flow.browser.get("/.well-known/oauth-authorization-server/mcp")).json() == first
    assert first["issuer"] == BASE
    endpoints = ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint")
    assert [first[each] for each in endpoints] == [
        f"{BASE}/{path}" for path in ("authorize", "token", "register", "revoke")
    ]
    assert first["code_challenge_methods_supported"] == ["S256"]
    assert first["authorization_response_iss_parameter_supported"] is True
    resource = (await flow.browser.get("/.well-known/oauth-protected-resource")).json()
    assert (await flow.browser.get("/.well-known/oauth-protected-resource/mcp")).json() == resource
    assert (resource["resource"], resource["authorization_servers"]) == (f"{BASE}/mcp", [BASE])
    assert (resource["scopes_supported"], resource["bearer_methods_supported"]) == (["mcp"], ["header"])
    challenge = (await flow.browser.post("/mcp", json={})).headers["www-authenticate"]
    assert f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"' in challenge
    assert 'scope="mcp"' in challenge


async def test_a_public_address_is_what_everything_names(tmp_path: Any) -> None:
    public = "http://engrain.example"
    async with opened(settings_at(tmp_path, base_url=public + "/")) as app, client_of(build_asgi(app)) as browser:
        ann, flow = await person(app, "ann"), Flow(browser)
        await flow.register()
        await flow.sign_in(ann)
        assert (await browser.get("/.well-known/oauth-authorization-server")).json()["issuer"] == public
        assert returned(await flow.ask())["error"] == "invalid_target"
        answer = returned(await flow.decide(await flow.ask(resource=f"{public}/mcp")))
        assert answer["iss"] == public
        tokens = (await flow.exchange(answer["code"], resource=f"{public}/mcp")).json()
        assert await flow.holds(tokens["access_token"])


async def test_a_registration_is_told_back(flow: Flow) -> None:
    told = await flow.register(token_endpoint_auth_method="client_secret_post", client_uri="https://x.example")
    assert told["client_secret"]
    assert told["client_secret_expires_at"] == 0
    assert told["redirect_uris"] == [CALLBACK]
    assert told["token_endpoint_auth_method"] == "client_secret_post"
    assert "client_uri" not in told
    assert "client_secret" not in await flow.register()


@pytest.mark.parametrize(
    ("content", "kind", "error", "status"),
    [
        (b'{"redirect_uris": ["http://evil.example/"]}', "application/json", "invalid_redirect_uri", 400),
        (b'{"redirect_uris": ["javascript:x"]}', "application/json", "invalid_redirect_uri", 400),
        (b"{}", "application/json", "invalid_redirect_uri", 400),
        (b"[]", "application/json", "invalid_client_metadata", 400),
        (b"{", "application/json", "invalid_client_metadata", 400),
        (b'{"redirect_uris": ["https://a.example/"], "client_name": "a\\u0000b"}', "", "invalid_client_metadata", 400),
        (b'{"redirect_uris": ["https://a.example/"], "client_name": "\\ud800"}', "", "invalid_client_metadata", 400),
        (b"a=b", "application/x-www-form-urlencoded", "invalid_request", 400),
        (b" " * (BODY_LIMIT + 1), "application/json", "invalid_request", 413),
    ],
)
async def test_a_registration_that_does_not_fit_is_refused(
    flow: Flow, content: bytes, kind: str, error: str, status: int
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert_refused(await flow.browser.post("/register", content=content, headers=headers), error, status)


async def test_registrations_are_limited(tmp_path: Any) -> None:
    async with opened(settings_at(tmp_path)) as app, client_of(build_asgi(app)) as browser:
        described = {"redirect_uris": [CALLBACK]}
        statuses = {(await browser.post("/register", json=described)).status_code for _ in range(60)}
        refused = await browser.post("/register", json=described)
        assert statuses == {201}
        assert_refused(refused, "temporarily_unavailable", 429)
        assert int(refused.headers["retry-after"]) > 0


async def test_tokens_open_mcp_with_the_rights_of_the_person(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    answer = await flow.exchange(await flow.code())
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    tokens = answer.json()
    assert tokens.keys() == {"access_token", "token_type", "expires_in", "scope", "refresh_token"}
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "mcp")
    added = await flow.call(tokens["access_token"], "add", title="Rule", content="Tabs.", entity_type="rule")
    assert added.json()["result"]["isError"] is False, added.text
    entities = (await flow.browser.get("/api/entities", headers=bearer(ann.token))).json()["entities"]
    assert [each["name"] for each in entities] == ["Rule"]


async def test_a_viewers_client_only_reads(flow: Flow, app: App, ann: Person) -> None:
    bob = await person(app, "bob", of=ann, role="viewer")
    await flow.sign_in(bob)
    answer = await flow.decide(await flow.ask(), organization=ann.organization_id)
    token = (await flow.exchange(returned(answer)["code"])).json()["access_token"]
    assert (await flow.call(token)).json()["result"]["isError"] is False
    refused = await flow.call(token, "add", title="Rule", content="Tabs.", entity_type="rule")
    assert refused.json()["result"]["isError"] is True


async def test_logging_out_with_a_clients_token_ends_nothing(flow: Flow, app: App, ann: Person) -> None:
    await flow.sign_in(ann)
    token = (await flow.tokens())["access_token"]
    flow.browser.cookies.clear()
    await flow.browser.post("/api/auth/logout", headers=bearer(token))
    assert await flow.holds(token)
    assert len(await in_thread(app.ledger.people.sessions, ann.user_id)) == 2


async def test_a_token_for_another_address_of_this_server_is_refused(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    token = (await flow.tokens())["access_token"]
    answer = await flow.browser.post("http://localhost:8420/mcp", json={}, headers=bearer(token))
    assert answer.status_code == 401
    assert "another address" in answer.json()["error_description"]


async def test_a_code_that_comes_twice_ends_what_it_gave(flow: Flow, app: App, ann: Person) -> None:
    await flow.sign_in(ann)
    code = await flow.code()
    tokens = (await flow.exchange(code)).json()
    refused = assert_refused(await flow.exchange(code), "invalid_grant")
    [entry] = app.ledger.audit.entries(AuditQuery(ann.organization_id, action="oauth.reuse"))
    assert entry.draft.resource == flow.client_id
    assert entry.draft.details["user_id"] == ann.user_id
    assert entry.draft.request["request_id"] == refused["request_id"]
    assert not await flow.holds(tokens["access_token"])
    assert_refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")


async def test_a_code_expires(flow: Flow, ann: Person, clock: Clock) -> None:
    await flow.sign_in(ann)
    code = await flow.code()
    clock.now += CODE_LIFETIME
    assert_refused(await flow.exchange(code), "invalid_grant")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": CHALLENGE}, "invalid_grant"),
        ({"code_verifier": "v" * 42}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:5555/other"}, "invalid_grant"),
        ({"redirect_uri": f"{CALLBACK}/"}, "invalid_grant"),
        ({"redirect_uri": CALLBACK.replace("5555", "1")}, "invalid_grant"),
        ({"redirect_uri": None}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": f"{BASE}/api"}, "invalid_target"),
        ({"code": "guess"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": None}, "invalid_request"),
    ],
)
async def test_an_exchange_that_does_not_fit_is_refused(
    flow: Flow, ann: Person, changes: dict[str, Any], error: str
) -> None:
    await flow.sign_in(ann)
    code = await flow.code()
    assert_refused(await flow.exchange(**{"code": code, **changes}), error)
    assert (await flow.exchange(code)).status_code == 200


async def test_a_code_of_another_client_is_none(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    mine, code = flow.client_id, await flow.code()
    await flow.register(client_name="Thief")
    assert_refused(await flow.exchange(code), "invalid_grant")
    # Injected into the thief's own flow, with the thief's own proof, it is no more use.
    assert_refused(await flow.exchange(code, client_id=mine, code_verifier="t" * 43), "invalid_grant")
    assert (await flow.exchange(code, client_id=mine)).status_code == 200


async def test_a_refresh_token_works_once_and_a_replay_ends_everything(flow: Flow, ann: Person, clock: Clock) -> None:
    await flow.sign_in(ann)
    first = await flow.tokens()
    answers = [await flow.refresh(first["refresh_token"])]
    clock.now += timedelta(seconds=29)
    answers.append(await flow.refresh(first["refresh_token"]))
    second, same = (answer.json() for answer in answers)
    assert second == same, "as when two processes refresh at once"
    assert not await flow.holds(first["access_token"])
    assert await flow.holds(second["access_token"])
    clock.now += timedelta(seconds=1)
    assert_refused(await flow.refresh(first["refresh_token"]), "invalid_grant")
    assert not await flow.holds(second["access_token"])
    assert_refused(await flow.refresh(second["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize("left", [False, True])
async def test_within_the_grace_period_a_token_yields_its_successor_whatever_became_of_that(
    flow: Flow, ann: Person, clock: Clock, left: bool
) -> None:
    await flow.sign_in(ann)
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    third = (await flow.refresh(second["refresh_token"])).json()
    assert not await flow.holds(second["access_token"])
    clock.now += timedelta(seconds=29)
    assert (await flow.refresh(first["refresh_token"])).json() == second
    assert await flow.holds(second["access_token"])
    assert await flow.holds(third["access_token"])
    clock.now += timedelta(minutes=50)
    if not left:
        assert (await flow.refresh(second["refresh_token"])).json() == third, "both are where the grant is again"
        return
    fourth = (await flow.refresh(third["refresh_token"])).json()
    clock.now += timedelta(seconds=30)
    assert_refused(await flow.refresh(second["refresh_token"]), "invalid_grant")
    assert not await flow.holds(fourth["access_token"])


async def test_a_refresh_token_is_its_clients_and_gives_no_more(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    tokens, mine = await flow.tokens(), flow.client_id
    await flow.register(client_name="Thief")
    assert_refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    flow.client_id = mine
    assert_refused(await flow.refresh(tokens["refresh_token"], scope="mcp api:write"), "invalid_scope")
    assert_refused(await flow.refresh(tokens["refresh_token"], resource="https://x.example/mcp"), "invalid_target")
    assert_refused(await flow.refresh(tokens["access_token"]), "invalid_grant")
    assert (
        await flow.browser.post("/api/auth/refresh", json={"refresh_token": tokens["refresh_token"]})
    ).status_code == 401
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200


async def test_an_access_token_expires(flow: Flow, ann: Person, clock: Clock) -> None:
    await flow.sign_in(ann)
    tokens = await flow.tokens()
    clock.now += timedelta(hours=1)
    assert not await flow.holds(tokens["access_token"])
    assert await flow.holds((await flow.refresh(tokens["refresh_token"])).json()["access_token"])


async def test_a_removed_person_s_client_is_out_at_once(flow: Flow, app: App, ann: Person) -> None:
    bob = await person(app, "bob", of=ann, role="member")
    await flow.sign_in(bob)
    code = returned(await flow.decide(await flow.ask(), organization=ann.organization_id))["code"]
    waiting = returned(await flow.decide(await flow.ask(), organization=ann.organization_id))["code"]
    tokens = (await flow.exchange(code)).json()
    assert await flow.holds(tokens["access_token"])
    await ann.call("remove_member", org_slug=ann.signed.identity.organization.slug, user_id=bob.user_id)
    assert not await flow.holds(tokens["access_token"])
    assert_refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    assert_refused(await flow.exchange(waiting), "invalid_grant")
    await in_thread(app.ledger.people.add_membership, bob.user_id, ann.organization_id, "member")
    assert not await flow.holds(tokens["access_token"]), "no new membership brings it back"


@pytest.mark.parametrize(
    "end",
    [
        lambda app, person: app.ledger.people.set_password_hash(person.user_id, "$new$"),
        lambda app, person: app.ledger.people.delete_user(person.user_id),
        lambda app, person: app.ledger.people.delete_organization(person.organization_id),
    ],
    ids=["a new password", "deleting the user", "deleting the organization"],
)
async def test_ending_sign_ins_ends_clients(
    flow: Flow, app: App, ann: Person, end: Callable[[App, Person], object]
) -> None:
    bob = await person(app, "bob")
    organization = Organization(bob.user_id, "Shared", f"shared-{bob.user_id}", False, app.clock())
    await in_thread(app.ledger.people.create_organization, organization)
    await in_thread(app.ledger.people.add_membership, bob.user_id, organization.id, "owner")
    await in_thread(app.ledger.people.add_membership, ann.user_id, organization.id, "owner")
    bob = replace(bob, signed=replace(bob.signed, identity=replace(bob.signed.identity, organization=organization)))
    await flow.sign_in(bob)
    first, second = [await flow.decide(await flow.ask(), organization=organization.id) for _ in range(2)]
    tokens = (await flow.exchange(returned(first)["code"])).json()
    assert await flow.holds(tokens["access_token"])
    await in_thread(end, app, bob)
    assert not await flow.holds(tokens["access_token"])
    assert_refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    assert_refused(await flow.exchange(returned(second)["code"]), "invalid_grant")


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_a_client_gives_its_grant_back(flow: Flow, ann: Person, which: str) -> None:
    await flow.sign_in(ann)
    tokens = await flow.tokens()
    mine = flow.client_id
    await flow.register(client_name="Other")
    form = {"client_id": flow.client_id, "token": tokens[which]}
    assert (await flow.browser.post("/revoke", data=form)).status_code == 200
    assert await flow.holds(tokens["access_token"])
    for _ in range(2):
        answer = await flow.browser.post("/revoke", data={**form, "client_id": mine, "token_type_hint": "x"})
        assert (answer.status_code, answer.content) == (200, b"")
    assert not await flow.holds(tokens["access_token"])
    assert_refused(await flow.refresh(tokens["refresh_token"], client_id=mine), "invalid_grant")
    unknown = await flow.browser.post("/revoke", data={"client_id": "mcp_" + "x" * 24, "token": "x"})
    assert_refused(unknown, "invalid_client", 401)
    assert_refused(await flow.browser.post("/revoke", data={"client_id": mine}), "invalid_request")


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_client_with_a_secret_has_to_prove_it(flow: Flow, ann: Person, method: str) -> None:
    secret = (await flow.register(token_endpoint_auth_method=method))["client_secret"]
    await flow.sign_in(ann)
    code = await flow.code()
    refused = await flow.exchange(code)
    assert_refused(refused, "invalid_client", 401)
    assert refused.headers["www-authenticate"].startswith("Basic ")
    assert_refused(await flow.exchange(code, client_secret=secret + "x"), "invalid_client", 401)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}

    async def basic(credentials: str, **more: str) -> httpx2.Response:
        headers = {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
        return await flow.browser.post("/token", data={**form, **more}, headers=headers)

    for wrong in (f"{flow.client_id}:", f"{flow.client_id}:x", flow.client_id, "\u00e9:x"):
        assert_refused(await basic(wrong), "invalid_client", 401)
    good = f"{flow.client_id}:{secret}"
    assert_refused(await basic(good, client_secret=secret), "invalid_request")
    assert_refused(await basic(good, client_id="mcp_" + "x" * 24), "invalid_request")
    answer = await (basic(good) if method == "client_secret_basic" else flow.exchange(code, client_secret=secret))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"grant_type": "authorization_code"}', "application/json"),
        (b"client_id=a&client_id=b", "application/x-www-form-urlencoded"),
        (b"client_id=%ff", "application/x-www-form-urlencoded"),
        (b"&".join(b"f%d=1" % n for n in range(60)), "application/x-www-form-urlencoded"),
    ],
    ids=["JSON", "twice", "no UTF-8", "too many"],
)
async def test_a_form_that_is_none_is_refused(flow: Flow, content: bytes, kind: str) -> None:
    answer = await flow.browser.post("/token", content=content, headers={"Content-Type": kind})
    assert_refused(answer, "invalid_request")
