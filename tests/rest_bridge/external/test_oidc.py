"""Signing in by an OpenID Connect provider: who that is, in which organization, in which role, and for how long."""

import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest

from auth.principal import Principal
from stores.ledger import AuditQuery
from tests.ledgers import user_count
from tests.oidc_provider.harness import Browser, Provider, set_cookies
from tests.people import PASSWORD
from tests.rest_bridge.external.conftest import FRONTEND, SESSION_MINUTES
from tests.rest_bridge.harness import assert_envelope, sign_up
from tools.app import App

pytestmark = pytest.mark.anyio


def somebody(**claims: Any) -> dict[str, Any]:
    name = uuid.uuid4().hex
    return {"sub": name, "email": f"{name}@acme.example", **claims}


def member_of_acme(app: App) -> Principal:
    watcher = sign_up(app)
    app.ledger.people.put_member(watcher.user_id, "acme-id", "member")
    session = app.accounts.new_session(watcher.user_id, "acme-id")
    app.ledger.people.create_session(session)
    return app.accounts.authenticate(app.accounts.tokens.access(session))


async def test_first_sign_in_joins_the_bound_organization(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody(name="Grace Hopper", picture="https://pictures.example/grace.png")
    provider.behave(claims=claims)
    answer = await browser.sign_in()
    assert (answer.status_code, answer.headers["location"]) == (302, FRONTEND)
    me = (await browser.me()).json()
    assert (me["user"]["email"], me["user"]["name"]) == (claims["email"], "Grace Hopper")
    assert me["user"]["avatar_url"] == "https://pictures.example/grace.png"
    assert (me["organization"]["slug"], me["org_role"]) == ("acme", "member")
    user = app.ledger.people.user_by_link("oidc", f"oidc:{provider.issuer}:{claims['sub']}")
    assert user is not None
    assert user.id == me["user"]["id"]
    assert user.email_verified_at is not None
    assert user.password_hash is None


async def test_the_session_ends_after_the_providers_minutes_and_cannot_be_prolonged(
    browser: Browser, provider: Provider, app: App
) -> None:
    provider.behave(claims=somebody())
    browser.client.cookies.set("engrain_refresh_token", "of somebody before")
    cookies = set_cookies(await browser.sign_in())
    assert f"Max-Age={SESSION_MINUTES * 60};" in cookies["engrain_access_token"]
    assert "HttpOnly" in cookies["engrain_access_token"]
    assert "Max-Age=0;" in cookies["engrain_refresh_token"]
    assert "Max-Age=0;" in cookies["engrain_oauth_state"]
    me = (await browser.me()).json()
    (session,) = app.ledger.people.sessions(me["user"]["id"])
    assert session.expires_at - session.created_at == timedelta(minutes=SESSION_MINUTES)
    assert (session.provider, session.user_agent, session.ip_address) == ("acme", "Firefox", "127.0.0.1")
    claims = app.accounts.tokens.read(browser.client.cookies["engrain_access_token"], "access")
    assert abs(claims.expires_at - session.expires_at.timestamp()) <= 1


async def test_the_second_sign_in_is_by_the_same_account_whatever_its_address_is_now(
    browser: Browser, provider: Provider
) -> None:
    claims = somebody()
    provider.behave(claims=claims)
    await browser.sign_in()
    first = (await browser.me()).json()["user"]
    provider.behave(claims={**claims, "email": "renamed@acme.example"})
    await browser.sign_in()
    assert (await browser.me()).json()["user"] == first


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        (["Engrain.Owner", "Engrain.Member"], "owner"), (["member", "admin"], "admin"), ("Engrain.Member", "member"),
        (["Other.Owner", "viewer"], "viewer"),
    ],
    ids=["highest", "plain words", "one word", "viewer"],
)  # fmt: skip
async def test_the_role_claim_gives_the_role(browser: Browser, provider: Provider, roles: Any, role: str) -> None:
    provider.behave(claims=somebody(roles=roles))
    await browser.sign_in()
    assert (await browser.me()).json()["org_role"] == role


async def test_the_claim_may_demote_the_last_owner(browser: Browser, provider: Provider, app: App) -> None:
    owners = [each.user.id for each in app.ledger.people.members("acme-id") if each.role == "owner"]
    for user_id in owners:
        app.ledger.people.put_member(user_id, "acme-id", "member")
    claims = somebody()
    for roles in (["owner"], ["member"]):
        provider.behave(claims={**claims, "roles": roles})
        await browser.sign_in()
        assert (await browser.me()).json()["org_role"] == roles[0]
    assert not [each for each in app.ledger.people.members("acme-id") if each.role == "owner"]


@pytest.mark.parametrize(
    "roles", [None, [], ["Engrain.God"], ["Owner"], [["owner"]], {"owner": True}, 7], ids=lambda roles: str(roles)
)
async def test_no_role_means_no_account(browser: Browser, provider: Provider, app: App, roles: Any) -> None:
    claims = somebody(roles=roles)
    provider.behave(claims=claims)
    before = user_count(app.ledger)
    assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")
    assert user_count(app.ledger) == before
    assert (await browser.me()).status_code == 401


@pytest.mark.parametrize("roles", [None, [], ["Engrain.God"]], ids=str)
async def test_losing_every_role_ends_membership(browser: Browser, provider: Provider, app: App, roles: Any) -> None:
    claims = somebody()
    provider.behave(claims={**claims, "roles": ["owner"]})
    await browser.sign_in()
    me = (await browser.me()).json()
    held = [browser.client.cookies["engrain_access_token"]]
    made = {"name": "k", "scopes": ["api:read"]}
    key = await browser.client.post(
        f"{browser.base}/api/auth/api-keys", json=made, headers={"Authorization": f"Bearer {held[0]}"}
    )
    held.append(key.json()["api_key"])
    async with app.events.subscribe(member_of_acme(app)) as events:
        provider.behave(claims={**claims, "roles": roles})
        for _ in range(2):
            assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")
        with anyio.fail_after(10):
            heard = (await anext(aiter(events))).data
    assert (heard["user_id"], heard["change_type"]) == (me["user"]["id"], "org_member_removed")
    for credential, status, code in zip(held, (403, 401), ("forbidden", "authentication_required"), strict=True):
        answer = await httpx2_get(browser, {"Authorization": f"Bearer {credential}"})
        assert_envelope(answer, status, code)
    assert app.ledger.people.member("acme-id", me["user"]["id"]) is None
    assert [each.slug for each, _ in app.ledger.people.memberships(me["user"]["id"])] == [f"u-{me['user']['id']}"]
    (lost,) = app.ledger.audit.entries(AuditQuery("acme-id", action="member.lose_role", actor_id=me["user"]["id"]))
    assert lost.draft.details == {"provider": "acme", "from": "owner"}
    provider.behave(claims={**claims, "roles": ["viewer"]})
    await browser.sign_in()
    assert (await browser.me()).json()["org_role"] == "viewer"


async def test_unlinked_members_keep_their_membership(browser: Browser, provider: Provider, app: App) -> None:
    local = sign_up(app)
    app.ledger.people.put_member(local.user_id, "acme-id", "member")
    user = app.ledger.people.user(local.user_id)
    assert user is not None
    provider.behave(claims=somebody(email=user.email, roles=[]))
    assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")
    assert app.ledger.people.member("acme-id", local.user_id) is not None


async def test_another_claim_may_hold_the_role(browser: Browser, provider: Provider) -> None:
    provider.behave(claims=somebody(groups=["admin"], roles=["owner"]))
    await browser.sign_in("/api/auth/oidc/quiet/login")
    assert (await browser.me()).json()["org_role"] == "admin"


async def test_a_local_account_is_linked_and_loses_credentials(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody()
    squatter = {"email": claims["email"].upper(), "password": PASSWORD, "name": "Squatter"}
    signed = (await browser.client.post(f"{browser.base}/api/auth/local/signup", json=squatter)).json()
    browser.client.cookies.clear()
    bearer = {"Authorization": f"Bearer {signed['access_token']}"}
    key = await browser.client.post(f"{browser.base}/api/auth/api-keys", headers=bearer, json={"name": "k"})
    provider.behave(claims=claims)
    await browser.sign_in()
    assert (await browser.me()).json()["user"]["id"] == signed["user"]["id"]
    for credential in (signed["access_token"], key.json()["api_key"]):
        held = await httpx2_get(browser, {"Authorization": f"Bearer {credential}"})
        assert_envelope(held, 401, "authentication_required")
    again = {"email": claims["email"], "password": PASSWORD}
    refused = await browser.client.post(f"{browser.base}/api/auth/local/login", json=again)
    assert_envelope(refused, 401, "authentication_required")


async def httpx2_get(browser: Browser, headers: dict[str, str]) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
        return await client.get(f"{browser.base}/api/auth/me", headers=headers)


@pytest.mark.parametrize("verified", [None, False, "false", "yes", 1], ids=str)
async def test_unverified_addresses_link_to_nobody(browser: Browser, provider: Provider, verified: Any) -> None:
    claims = somebody(email_verified=verified)
    local = {"email": claims["email"], "password": PASSWORD, "name": "Local"}
    signed = (await browser.client.post(f"{browser.base}/api/auth/local/signup", json=local)).json()
    browser.client.cookies.clear()
    provider.behave(claims=claims)
    assert_envelope(await browser.sign_in(), 403, "external_email_unverified")
    held = await httpx2_get(browser, {"Authorization": f"Bearer {signed['access_token']}"})
    assert held.status_code == 200


async def test_a_verified_address_takes_over_an_unverified_one(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody(email_verified=False)
    provider.behave(claims=claims)
    await browser.sign_in()
    first = (await browser.me()).json()["user"]["id"]
    provider.behave(claims={**claims, "sub": uuid.uuid4().hex, "email_verified": True})
    await browser.sign_in()
    assert (await browser.me()).json()["user"]["id"] == first
    assert len(app.ledger.people.sessions(first)) == 1
    assert app.ledger.people.user_by_link("oidc", f"oidc:{provider.issuer}:{claims['sub']}") is None


async def test_sign_ins_stand_in_the_audit_log(browser: Browser, provider: Provider, app: App) -> None:
    provider.behave(claims=somebody())
    await browser.sign_in()
    user_id = (await browser.me()).json()["user"]["id"]
    entries = app.ledger.audit.entries(AuditQuery("acme-id", actor_id=user_id))
    assert {each.draft.action for each in entries} == {"session.start", "member.claim_role"}
    start = next(each.draft for each in entries if each.draft.action == "session.start")
    assert start.details == {"provider": "acme"}
    assert start.request["user_agent"] == "Firefox"
    assert start.request["address"] == "127.0.0.1"


async def test_refused_sign_ins_stand_in_the_audit_log(browser: Browser, provider: Provider, app: App) -> None:
    provider.behave(claims=somebody(roles=[]))
    await browser.sign_in()
    newest = app.ledger.audit.entries(AuditQuery("acme-id", limit=1))[0].draft
    assert (newest.action, newest.actor_id) == ("session.refuse", None)
    assert newest.details == {"provider": "acme", "reason": "oidc_missing_role"}
    assert newest.request["address"] == "127.0.0.1"


async def test_the_organization_hears_of_new_members_and_roles(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody()
    async with app.events.subscribe(member_of_acme(app)) as events:
        for roles in (["member"], ["member"], ["admin"]):
            provider.behave(claims={**claims, "roles": roles})
            await browser.sign_in()
        with anyio.fail_after(10):
            heard = [(await anext(aiter(events))).data for _ in range(2)]
    assert [(each["change_type"], each["org_role"]) for each in heard] == [
        ("org_member_added", "member"),
        ("org_role_changed", "admin"),
    ]


async def test_missing_claims_come_from_the_userinfo_endpoint(browser: Browser, provider: Provider) -> None:
    claims = somebody()
    more = {"sub": claims["sub"], "email": claims["email"], "email_verified": True, "roles": ["admin"]}
    provider.behave(claims={**claims, "email": None, "email_verified": None}, userinfo=more)
    await browser.sign_in()
    me = (await browser.me()).json()
    # What the signed token does say, wins.
    assert (me["user"]["email"], me["org_role"]) == (claims["email"], "member")


async def test_an_address_is_verified_by_whoever_names_it(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody()
    more = {"email": claims["email"], "email_verified": False}
    provider.behave(claims={**claims, "email": None, "email_verified": True}, userinfo=more)
    await browser.sign_in()
    user = app.ledger.people.user_by_email(claims["email"])
    assert user is not None
    assert user.email_verified_at is None


@pytest.mark.parametrize("token", ["a\nb", "é", 7, None], ids=repr)
async def test_an_unsendable_access_token_is_not_used(browser: Browser, provider: Provider, token: Any) -> None:
    provider.behave(claims=somebody(email=None), token={"access_token": token})
    assert_envelope(await browser.sign_in(), 401, "oidc_claim_missing")
    assert "userinfo" not in provider.seen()


async def test_user_information_about_somebody_else_is_refused(browser: Browser, provider: Provider) -> None:
    provider.behave(claims={**somebody(), "email": None}, userinfo={"sub": "eve", "email": "eve@acme.example"})
    assert_envelope(await browser.sign_in(), 502, "provider_answer_invalid")


async def test_the_request_to_the_provider_is_for_this_attempt_alone(browser: Browser, provider: Provider) -> None:
    asked = [
        parse_qs(urlsplit((await browser.get("/api/auth/oidc/acme/login")).headers["location"]).query) for _ in range(2)
    ]
    for query in asked:
        assert query["code_challenge_method"] == ["S256"]
        assert query["scope"] == ["openid profile email"]
        assert query["redirect_uri"] == [f"{browser.base}/api/auth/oidc/acme/callback"]
        assert "prompt" not in query
    for name in ("state", "nonce", "code_challenge"):
        assert asked[0][name] != asked[1][name], name


@pytest.mark.parametrize("kind", ["RSA", "EC"])
async def test_a_token_need_not_name_the_only_key(browser: Browser, provider: Provider, kind: str) -> None:
    provider.behave(claims=somebody(), signature="without the key's name", new_key=kind)
    assert (await browser.sign_in()).status_code == 302
    assert (await browser.me()).status_code == 200


@pytest.mark.parametrize(
    ("methods", "proof"),
    [
        (None, "basic"),
        (["client_secret_post", "client_secret_basic"], "basic"),
        (["client_secret_post", "private_key_jwt"], "post"),
    ],
    ids=["not said", "both", "one"],
)
async def test_the_client_proves_itself_as_the_provider_wants(
    browser: Browser, provider: Provider, methods: list[str] | None, proof: str
) -> None:
    published = {"token_endpoint_auth_methods_supported": methods}
    provider.behave(claims=somebody(), configuration=published, proof=proof)
    assert (await browser.sign_in()).status_code == 302


async def test_many_first_sign_ins_at_once_make_one_account(browser: Browser, provider: Provider, app: App) -> None:
    claims = somebody()
    provider.behave(claims=claims)
    links = [await browser.to_provider("/api/auth/oidc/acme/login") for _ in range(4)]
    before, statuses = user_count(app.ledger), []

    async def follow(link: str) -> None:
        statuses.append((await browser.get(link)).status_code)

    async with anyio.create_task_group() as tasks:
        for link in links:
            tasks.start_soon(follow, link)
    assert statuses == [302] * 4
    assert user_count(app.ledger) == before + 1


async def test_all_providers_are_listed(browser: Browser, provider: Provider) -> None:
    listed = {each["name"]: each for each in (await browser.get("/api/auth/providers")).json()["providers"]}
    assert listed["acme"] == {"name": "acme", "label": "Acme", "login_url": "/api/auth/oidc/acme/login"}
    assert listed["codehost"]["login_url"] == "/api/auth/codehost"


async def test_only_server_admins_free_the_slug_of_a_provider(browser: Browser, provider: Provider, app: App) -> None:
    provider.behave(claims=somebody(roles=["owner"]))
    await browser.sign_in()
    post, headers = browser.client.post, {"Origin": browser.base}
    moved = await browser.client.patch(f"{browser.base}/api/orgs/acme", json={"slug": "free"}, headers=headers)
    assert_envelope(moved, 403, "forbidden")
    renamed = await browser.client.patch(f"{browser.base}/api/orgs/acme", json={"name": "Acme"}, headers=headers)
    assert renamed.status_code == 200
    for slug in ("nowhere", "acme"):
        taken = await post(f"{browser.base}/api/orgs", json={"name": "Mine", "slug": slug}, headers=headers)
        assert_envelope(taken, 403, "forbidden")
    made = await post(f"{browser.base}/api/orgs", json={"name": "Nowhere"}, headers=headers)
    assert made.json()["organization"]["slug"].startswith("org-nowhere-")
    admin = app.ledger.people.first_admin()
    assert admin is not None
    session = app.accounts.new_session(admin.id, app.ledger.people.memberships(admin.id)[0][0].id)
    app.ledger.people.create_session(session)
    token = app.accounts.tokens.access(session)
    allowed = {"name": "Nowhere", "slug": "nowhere"}
    browser.client.cookies.clear()
    made = await post(f"{browser.base}/api/orgs", json=allowed, headers={"Authorization": f"Bearer {token}"})
    assert made.status_code == 201
