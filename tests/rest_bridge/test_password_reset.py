"""A forgotten password is reset by mail, and nobody learns who has an account."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from rest_bridge.application import build_asgi
from stores.errors import BadGateway
from tests.mail_server import MailServer, make_certificate
from tests.people import PASSWORD, host_of, mailed
from tests.rest_bridge.harness import Client, Clock, assert_envelope, client_of, settings_at
from tools.app import App, open_app
from tools.frame.threads import in_thread
from tools.jobs.functions import RunningJob
from tools.people.sessions import MAIL_RESET, mail_reset
from tools.runtime.log_ring import LogRing
from tools.runtime.mail import Letter, Mailer

pytestmark = pytest.mark.anyio

NEW = "a password to remember"
EMAIL = "Grace@example.org"
EVE = {"email": "eve@example.org", "name": "Eve"}


@pytest.fixture
async def app(tmp_path: Path, clock: Clock) -> AsyncIterator[App]:
    settings = settings_at(tmp_path, rate_limit_enabled=False)
    async with open_app(settings, logs=LogRing(), clock=clock) as app:
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def grace(client: Client) -> dict[str, Any]:
    body = {"email": EMAIL, "password": PASSWORD, "name": "Grace"}
    signed = await client.post("/api/auth/local/signup", json=body)
    client.cookies.clear()
    return dict(signed.json())


async def ask(client: Client, app: App, email: str) -> httpx2.Response:
    answer = await client.post("/api/users/password/reset", json={"email": email})
    await mailed(app)
    return answer


def tokens(app: App) -> list[str]:
    texts = [path.read_text() for path in sorted(app.mailer.folder.glob("*.eml"))]
    return [found[0] for text in texts for found in [re.findall(r"^[\w-]{43}$", text, re.M)]]


async def confirm(client: Client, token: str, password: str = NEW) -> httpx2.Response:
    body = {"token": token, "new_password": password}
    return await client.post("/api/users/password/reset/confirm", json=body)


async def test_the_mailed_token_resets_the_password_once_and_ends_all_sessions(
    client: Client, app: App, grace: dict[str, Any]
) -> None:
    await ask(client, app, EMAIL.lower())
    (letter,) = app.mailer.folder.glob("*.eml")
    assert letter.stat().st_mode & 0o777 == 0o600
    message = message_from_bytes(letter.read_bytes(), policy=policy.default)
    assert message["To"] == EMAIL
    (token,) = tokens(app)
    short = await confirm(client, token, "short")
    assert_envelope(short, 422, "validation_error")
    assert (await confirm(client, token)).status_code == 204
    assert_envelope(await confirm(client, token), 400, "invalid_reset_token")
    bearer = {"Authorization": f"Bearer {grace['access_token']}"}
    assert_envelope(await client.get("/api/auth/me", headers=bearer), 401, "authentication_required")
    for password, status in ((PASSWORD, 401), (NEW, 200)):
        entry = await client.post("/api/auth/local/login", json={"email": EMAIL, "password": password})
        assert entry.status_code == status


async def test_whoever_signed_up_with_the_address_of_somebody_else_keeps_nothing_after_the_first_reset(
    client: Client, app: App, grace: dict[str, Any], clock: Clock
) -> None:
    clock.now += timedelta(minutes=1)  # whose personal organization it is, its oldest membership tells
    bearer = {"Authorization": f"Bearer {grace['access_token']}"}
    made = await client.post("/api/auth/api-keys", json={"name": "k"}, headers=bearer)
    key = {"Authorization": f"Bearer {made.json()['api_key']}"}
    eve = (await client.post("/api/auth/local/signup", json={**EVE, "password": PASSWORD})).json()
    home = f"/api/orgs/{grace['organization']['slug']}"
    guest = {"user_id": eve["user"]["id"], "role": "owner"}
    client.cookies.clear()
    assert (await client.post(f"{home}/members", json=guest, headers=bearer)).status_code == 200
    eves = {"Authorization": f"Bearer {eve['access_token']}"}
    inside = (await client.post(f"{home}/switch", headers=eves)).json()
    client.cookies.clear()
    watching = app.accounts.authenticate(inside["access_token"])
    async with app.events.subscribe(watching) as events:
        await ask(client, app, EMAIL)
        assert (await confirm(client, tokens(app)[0])).status_code == 204
        with anyio.fail_after(10):
            assert [event async for event in events] == []
    for held in (bearer, key):
        assert_envelope(await client.get("/api/auth/me", headers=held), 401, "authentication_required")
    outside = {"Authorization": f"Bearer {inside['access_token']}"}
    assert_envelope(await client.get("/api/auth/me", headers=outside), 403, "forbidden")
    entered = await client.post("/api/auth/local/login", json={"email": EMAIL, "password": NEW})
    members = (await client.get(f"{home}/members")).json()["members"]
    assert [each["user"]["id"] for each in members] == [entered.json()["user"]["id"]]


async def test_one_mail_in_two_minutes_and_a_token_lasts_an_hour(
    client: Client, app: App, grace: dict[str, Any], clock: Clock
) -> None:
    for passed in (0, 119, 2):
        clock.now += timedelta(seconds=passed)
        await ask(client, app, EMAIL)
    first, second = tokens(app)
    clock.now += timedelta(minutes=58, seconds=1)
    assert_envelope(await confirm(client, first), 400, "invalid_reset_token")
    assert (await confirm(client, second)).status_code == 204


async def test_an_account_without_a_password_gets_no_mail(client: Client, app: App, grace: dict[str, Any]) -> None:
    app.ledger.people.set_password_hash(grace["user"]["id"], None)
    assert (await ask(client, app, EMAIL)).status_code == 202
    assert not app.mailer.folder.exists()


async def test_mail_goes_to_the_server_that_is_set(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path / "mail.pem", "127.0.0.1")
    with MailServer(certificate, credentials=("us", "secret")).running() as server:
        settings = settings_at(
            tmp_path / "data", rate_limit_enabled=False, smtp_host="127.0.0.1", smtp_port=server.port,
            smtp_username="us", smtp_password="secret", smtp_ca_file=certificate,
        )  # fmt: skip
        async with open_app(settings, logs=LogRing()) as app, client_of(build_asgi(app)) as client:
            await client.post("/api/auth/local/signup", json={"email": EMAIL, "password": PASSWORD, "name": "Grace"})
            assert (await ask(client, app, EMAIL)).status_code == 202
            assert not app.mailer.folder.exists()
    (taken,) = server.taken
    assert (taken.recipients, taken.encrypted, taken.user) == ((EMAIL,), True, "us")
    assert re.search(r"^[\w-]{43}\r$", taken.message.get_content(), re.M)


async def test_a_reset_mail_is_a_job_that_is_repeated(
    client: Client, app: App, grace: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/api/users/password/reset", json={"email": EMAIL})
    await in_thread(app.mailer.wait)
    (taken,) = await in_thread(app.ledger.jobs.take, "lost", [MAIL_RESET], 1, 0)
    monkeypatch.setattr(Mailer, "_keep", lambda *_: 1 / 0)
    with pytest.raises(BadGateway):
        mail_reset(host_of(app), RunningJob(taken, app.ledger))
    monkeypatch.undo()
    await mailed(app)
    bearer = {"Authorization": f"Bearer {grace['access_token']}"}
    job = await client.get(f"/api/jobs/{MAIL_RESET}:{grace['user']['id']}", headers=bearer)
    assert (job.json()["attempts"], job.json()["result"]) == (2, {"mail": "kept"})
    assert (await confirm(client, tokens(app)[0])).status_code == 204


def test_a_letter_that_cannot_be_sent_does_not_stop_the_next(tmp_path: Path, clock: Clock) -> None:
    mailer = Mailer(settings_at(tmp_path), clock)
    with pytest.raises(BadGateway):
        mailer.deliver(Letter("not an address", "a", "b"))
    assert mailer.deliver(Letter("grace@example.org", "second", "b")) == "kept"
    mailer.close()
    (letter,) = mailer.folder.glob("*.eml")
    assert "second" in letter.read_text()
