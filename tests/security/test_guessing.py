"""Guessing passwords, accounts and names: it is slowed down, and wrong guesses tell nothing."""

import json
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from auth.passwords import Passwords
from rest_bridge.application import build_asgi
from rest_bridge.routes import FixedWindow
from rest_bridge.server import Server, configuration
from stores.errors import InvalidSetting, RateLimited
from tests.people import PASSWORD, Person
from tests.rest_bridge.harness import Person as Somebody
from tests.rest_bridge.harness import listening, opened, serving, settings_at, sign_up
from tests.security.harness import SOON, CountingHasher, World, world_of
from tools.catalogue import OPERATIONS
from tools.frame.threads import in_thread
from tools.runtime.settings import read_settings

pytestmark = pytest.mark.anyio

LOGIN = "/api/auth/local/login"
NOBODY = "nobody@example.org"


def told(answer: httpx2.Response) -> tuple[int, dict[str, Any], set[str]]:
    body = {name: value for name, value in answer.json().items() if name != "request_id"}
    return answer.status_code, body, set(answer.headers)


async def guesses(world: World, ada: Person) -> dict[str, str]:
    external, gone = await world.person("external"), await world.person("gone")
    await in_thread(world.app.ledger.people.set_password_hash, external.user_id, None)
    assert (await world.send("DELETE", "/api/users/me", token=gone.token)).status_code == 202
    return {
        "unknown": NOBODY, "wrong password": ada.email, "no password": external.email, "deleted": gone.email,
        "no address": "not an address", "very long": "x" * 240 + "@example.org",
    }  # fmt: skip


async def test_a_failed_login_does_not_tell_why(world: World, ada: Person) -> None:
    found = {
        name: told(await world.post(LOGIN, {"email": email, "password": "wrong password"}))
        for name, email in (await guesses(world, ada)).items()
    }
    assert all(each == found["wrong password"] for each in found.values()), found
    assert found["wrong password"][0] == 401


async def test_every_failed_login_costs_one_hash_from_the_first_one_on(world: World, ada: Person) -> None:
    emails = await guesses(world, ada)
    hasher = CountingHasher()
    accounts = replace(world.app.accounts, passwords=Passwords(hasher))
    async with world_of(replace(world.app, accounts=accounts)) as fresh:
        for name, email in emails.items():
            before = fresh.hasher.runs
            await fresh.post(LOGIN, {"email": email, "password": "wrong password"})
            assert fresh.hasher.runs - before == 1, name


@pytest.mark.parametrize("password", ["p", "wrong password", "x" * 1024, "päßwörd", "\u202e", "' OR 1=1 --"])
async def test_any_wrong_password_is_one_that_is_wrong(world: World, ada: Person, password: str) -> None:
    known = told(await world.post(LOGIN, {"email": ada.email, "password": password}))
    assert known == told(await world.post(LOGIN, {"email": NOBODY, "password": password}))
    assert known[0] == 401


@pytest.mark.parametrize("change", [str.upper, str.strip, lambda p: p + " ", lambda p: p[:-1], lambda p: p + "\u0301"])
async def test_a_password_is_taken_to_the_letter(world: World, change: Any) -> None:
    password = " Ünder the  clock at 5 " + "x" * 80
    email = f"{world.app.new_id('exact')}@example.org"
    made = await world.post("/api/auth/local/signup", {"email": email, "password": password, "name": "E"})
    assert made.status_code == 201
    assert (await world.post(LOGIN, {"email": email, "password": password})).status_code == 200
    assert (await world.post(LOGIN, {"email": email, "password": change(password)})).status_code == 401


async def test_signing_up_with_a_taken_address_costs_what_a_free_one_does(world: World, ada: Person) -> None:
    for email, status in ((ada.email, 409), (f"{world.app.new_id('free')}@example.org", 201)):
        before = world.hasher.runs
        made = await world.post("/api/auth/local/signup", {"email": email, "password": PASSWORD, "name": "E"})
        assert (made.status_code, world.hasher.runs - before) == (status, 1)


async def test_asking_for_a_reset_costs_and_says_the_same_for_everybody(world: World, ada: Person) -> None:
    before = world.hasher.runs
    answers = [
        told(await world.post("/api/users/password/reset", {"email": email}))
        for email in (await guesses(world, ada)).values()
    ]
    assert all(each == answers[0] for each in answers)
    assert answers[0][0] == 202
    assert world.hasher.runs == before


async def test_a_made_up_reset_token_is_refused_before_any_work(world: World) -> None:
    before = world.hasher.runs
    answer = await world.post("/api/users/password/reset/confirm", {"token": "x" * 43, "new_password": PASSWORD})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_reset_token")
    assert world.hasher.runs == before


async def test_an_invitation_that_does_not_hold_does_not_tell_why(world: World, ada: Person) -> None:
    slug = ada.signed.identity.organization.slug
    bob = await world.person("bob")
    path = f"/api/orgs/{slug}/invitations"

    async def invited() -> tuple[str, str]:
        made = (await world.post(path, {"email": bob.email}, ada.token)).json()["invitation"]
        return made["id"], made["accept_url"].rsplit("/", 2)[-2]

    _, replaced = await invited()
    revoked_id, revoked = await invited()
    assert (await world.send("DELETE", f"{path}/{revoked_id}", token=ada.token)).status_code == 200
    _, used = await invited()
    accepted = await world.post(f"/api/invitations/{used}/accept", {}, bob.token)
    assert accepted.status_code == 200
    token = accepted.json()["access_token"]
    answers = [
        told(await world.post(f"/api/invitations/{each}/accept", {}, token))
        for each in (replaced, revoked, used, "x" * 43)
    ]
    assert all(each == answers[3] for each in answers)
    assert answers[3][0] == 400


FOREIGN_SLUG = [
    ("GET", "/api/orgs/{}", None), ("PATCH", "/api/orgs/{}", {"name": "Mine"}), ("DELETE", "/api/orgs/{}", None),
    ("POST", "/api/orgs/{}/switch", {}), ("GET", "/api/orgs/{}/members", None),
    ("POST", "/api/orgs/{}/members", {"user_id": "x"}), ("PATCH", "/api/orgs/{}/members/x", {"role": "owner"}),
    ("DELETE", "/api/orgs/{}/members/x", None), ("GET", "/api/orgs/{}/invitations", None),
    ("POST", "/api/orgs/{}/invitations", {"email": "x@example.org"}), ("DELETE", "/api/orgs/{}/invitations/x", None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), FOREIGN_SLUG)
async def test_an_organization_of_others_is_as_absent_as_one_that_never_was(
    world: World, ada: Person, eve: Person, method: str, path: str, body: object
) -> None:
    slug = ada.signed.identity.organization.slug
    unused = f"u-{'0' * (len(slug) - 2)}"
    theirs = await world.send(method, path.format(slug), body, eve.token)
    nowhere = await world.send(method, path.format(unused), body, eve.token)
    assert theirs.status_code == 404
    assert told(theirs) == (404, _as_if(told(nowhere)[1], unused, slug), set(nowhere.headers))


def _as_if(body: dict[str, Any], name: str, other: str) -> dict[str, Any]:
    return dict(json.loads(json.dumps(body).replace(name, other)))


FOREIGN_ID = [
    ("GET", "/api/entities/{}", None),
    ("PATCH", "/api/entities/{}", {"name": "mine"}),
    ("DELETE", "/api/entities/{}", None),
    ("GET", "/api/projects/{}/members", None),
    ("POST", "/api/projects/{}/members", {"user_id": "x"}),
    ("POST", "/api/entities", {"name": "n", "metadata": {"project_id": "{}"}}),
    ("POST", "/api/entities", {"name": "n", "related_to": ["{}"]}),
    ("POST", "/api/search", {"query": "x", "project": "{}"}),
    ("POST", "/api/auth/api-keys", {"name": "n", "project_ids": ["{}"]}),
]


@pytest.mark.parametrize(("method", "path", "body"), FOREIGN_ID)
async def test_a_record_of_another_organization_is_as_absent_as_one_that_never_was(
    world: World, ada: Person, eve: Person, method: str, path: str, body: object
) -> None:
    made = await world.post("/api/entities", {"name": "secret", "entity_type": "project"}, ada.token)
    theirs, unused = made.json()["id"], "project_000000000000"

    def filled(value: Any, record: str) -> Any:
        if isinstance(value, dict):
            return {key: filled(item, record) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, record) for item in value]
        return value.replace("{}", record) if isinstance(value, str) else value

    found, absent = [
        await world.send(method, path.format(record), filled(body, record), eve.token) for record in (theirs, unused)
    ]
    assert found.status_code == absent.status_code
    assert found.status_code in (200, 400, 404)
    if found.status_code != 200:
        assert told(found)[1] == _as_if(told(absent)[1], unused, theirs)
    assert "secret" not in found.text
    assert (await world.send("GET", f"/api/entities/{theirs}", token=ada.token)).json()["name"] == "secret"


@pytest.fixture(scope="module")
async def limited(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with opened(settings_at(tmp_path_factory.mktemp("limited"))) as app, world_of(app) as world:
        yield world


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True), ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True), ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
        ("fe80::1%eth0", "fe80::2%eth1", True), ("203.0.113.7", "203.0.113.8", False),
        ("5f0c1d5e-6d36-4a3b-9d6b-0f7d0c8a1b2c", "5f0c1d5e-6d36-4a3b-9d6b-0f7d0c8a1b2d", False), ("", "", True),
    ],
)  # fmt: skip
def test_a_network_of_one_machine_counts_as_one_caller(one: str, other: str, same: bool) -> None:
    limit = FixedWindow("1/hour", lambda: 1000.0)
    limit.take(one)
    if same:
        with pytest.raises(RateLimited):
            limit.take(other)
    else:
        limit.take(other)


UNLIMITED = {
    "log_out": "it ends a session that the caller proves to hold",
    "providers": "it reads settings",
    "codehost_callback": "it needs a state that this server made",
    "oidc_callback": "it needs a state that this server made",
}


def test_whatever_anybody_may_do_without_an_account_is_limited() -> None:
    public = [each for each in OPERATIONS if each.roles is None and each.route is not None]
    assert {each.name for each in public if each.route and each.route.rate is None} == set(UNLIMITED)


def variations(number: int) -> dict[str, str]:
    return {
        "User-Agent": f"agent {number}", "X-Forwarded-For": f"10.0.0.{number}", "X-Real-IP": f"10.0.1.{number}",
        "Forwarded": f"for=10.0.2.{number}", "True-Client-IP": f"10.0.3.{number}",
        "CF-Connecting-IP": f"10.0.4.{number}", "X-Request-ID": f"id-{number}",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "tries"),
    [
        (LOGIN, {"email": "{}@example.org", "password": "wrong password"}, 5),
        ("/api/auth/local/signup", {"email": "no address {}", "password": PASSWORD, "name": "E"}, 5),
        ("/api/users/password/reset", {"email": "{}@example.org"}, 5),
        ("/api/users/password/reset/confirm", {"token": "guess{}", "new_password": PASSWORD}, 5),
        ("/api/auth/refresh", {"refresh_token": "guess{}"}, 30),
    ],
)
async def test_guesses_are_limited_by_address_whatever_else_changes(
    limited: World, path: str, body: dict[str, str], tries: int
) -> None:
    answers = []
    for number in range(2 * tries + 1):
        sent = {name: value.format(number) for name, value in body.items()}
        answers.append(await limited.post(f"{path}?{number}", sent, **variations(number)))
    # A window may end between two of them; it cannot end twice.
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused, [answer.status_code for answer in answers]
    assert all(answer.json()["error"] == "rate_limited" for answer in refused)
    assert all(1 <= int(answer.headers["retry-after"]) <= 61 for answer in refused)


async def test_a_right_guess_beyond_the_limit_is_answered_as_a_wrong_one(limited: World) -> None:
    ada = await limited.person("ada")
    answers = []
    for _ in range(11):
        answers.append(await limited.post(LOGIN, {"email": ada.email, "password": "wrong password"}))
        answers.append(await limited.post(LOGIN, {"email": ada.email, "password": PASSWORD}))
    refused = [told(answer) for answer in answers if answer.status_code == 429]
    assert refused
    assert {body["error"] for _, body, _ in refused} == {"rate_limited"}


async def test_a_new_password_is_not_guessed_with_a_borrowed_session(limited: World) -> None:
    somebody: Somebody = await in_thread(sign_up, limited.app)
    body = {"current_password": "wrong password", "new_password": PASSWORD}
    answers = [await limited.post("/api/users/me/password", body, somebody.token) for _ in range(11)]
    assert {400, 429} == {answer.status_code for answer in answers}


async def test_nobody_is_locked_out_by_the_guesses_of_others(world: World, ada: Person) -> None:
    for _ in range(20):
        await world.post(LOGIN, {"email": ada.email, "password": "wrong password"})
    assert (await world.post(LOGIN, {"email": ada.email, "password": PASSWORD})).status_code == 200


@pytest.mark.parametrize(("trusted", "limited_alike"), [((), True), (("127.0.0.0/8",), False), (("10.9.9.9",), True)])
async def test_a_forwarded_address_counts_from_a_trusted_proxy_only(
    tmp_path: Path, trusted: tuple[str, ...], limited_alike: bool
) -> None:
    async with opened(settings_at(tmp_path, trusted_proxies=trusted)) as app:
        application = build_asgi(app)

        def make(started: Any) -> Server:
            return Server(configuration(application, app.settings.trusted_proxies), started)

        async with listening(make) as port, httpx2.AsyncClient(trust_env=False, timeout=30) as http:
            url, body = f"http://127.0.0.1:{port}{LOGIN}", {"email": NOBODY, "password": "wrong password"}
            answers = [
                await http.post(url, json=body, headers={"X-Forwarded-For": f"203.0.113.{number}"})
                for number in range(11)
            ]
            assert (429 in {answer.status_code for answer in answers}) is limited_alike
            forged = [
                await http.post(url, json=body, headers={"X-Forwarded-For": f"192.0.2.{number}, 203.0.113.77"})
                for number in range(11)
            ]
            assert 429 in {answer.status_code for answer in forged}, "what the proxy itself saw comes last"


@pytest.mark.parametrize("proxies", ["proxy.example", "10.0.0.0/33", "10.0.0.1/8", "*", "10.0.0.1,somewhere"])
def test_a_proxy_that_is_no_address_stops_the_start(proxies: str) -> None:
    with pytest.raises(InvalidSetting, match="ENGRAIN_TRUSTED_PROXIES"):
        read_settings({"ENGRAIN_TRUSTED_PROXIES": proxies})


class HeldHasher(CountingHasher):
    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def verify(self, hash: str | bytes, password: str | bytes) -> Any:
        self.released.wait(SOON)
        return super().verify(hash, password)


async def test_guesses_that_wait_for_their_turn_hold_up_nobody_else(world: World, ada: Person) -> None:
    hasher = HeldHasher()
    accounts = replace(world.app.accounts, passwords=Passwords(hasher))
    statuses = []

    many = httpx2.Limits(max_connections=100)

    async def guess(guesser: httpx2.AsyncClient, port: int) -> None:
        url, body = f"http://127.0.0.1:{port}{LOGIN}", {"email": NOBODY, "password": "wrong password"}
        statuses.append((await guesser.post(url, json=body)).status_code)

    async with (
        httpx2.AsyncClient(trust_env=False, timeout=2 * SOON, limits=many) as guesser,
        serving(replace(world.app, accounts=accounts), OPERATIONS) as port,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(60):
            tasks.start_soon(guess, guesser, port)
        async with httpx2.AsyncClient(trust_env=False, timeout=SOON) as http:
            headers = {"Authorization": f"Bearer {ada.token}"}
            with anyio.fail_after(SOON):
                for _ in range(10):
                    answer = await http.get(f"http://127.0.0.1:{port}/api/entities", headers=headers)
                    assert answer.status_code == 200
        hasher.released.set()
    assert statuses == [401] * 60
