"""Who calls: bearer header or cookie, and what a token that does not hold means."""

import httpx2
import pytest

from tests.rest_bridge.harness import Person, assert_envelope, sign_up
from tools.app import App

pytestmark = pytest.mark.anyio

COOKIE = "engrain_access_token"


async def test_the_cookie_is_enough_to_read(client: httpx2.AsyncClient, ada: Person) -> None:
    response = await client.get("/api/notes", headers={"Cookie": f"{COOKIE}={ada.token}"})
    assert response.status_code == 200


async def test_the_header_wins_over_the_cookie(client: httpx2.AsyncClient, app: App, ada: Person) -> None:
    other = sign_up(app)
    headers = {**other.bearer, "Cookie": f"{COOKIE}={ada.token}"}
    response = await client.post("/api/notes", json={"text": "x"}, headers=headers)
    assert response.json()["author"] == other.user_id


async def test_a_bad_header_is_not_saved_by_a_good_cookie(client: httpx2.AsyncClient, ada: Person) -> None:
    headers = {"Authorization": "Bearer nonsense", "Cookie": f"{COOKIE}={ada.token}"}
    assert_envelope(await client.get("/api/notes", headers=headers), 401, "authentication_required")


async def test_a_header_of_another_scheme_leaves_the_cookie_to_count(client: httpx2.AsyncClient, ada: Person) -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "Cookie": f"{COOKIE}={ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


@pytest.mark.parametrize("value", ["Bearer", "Bearer ", "Bearer x.y.z", "bearer \x7f"])
async def test_a_token_that_does_not_hold_is_refused_with_the_reason(client: httpx2.AsyncClient, value: str) -> None:
    response = await client.get("/api/notes", headers={"Authorization": value})
    assert_envelope(response, 401, "authentication_required")


async def test_the_scheme_is_not_case_sensitive(client: httpx2.AsyncClient, ada: Person) -> None:
    headers = {"Authorization": f"bEARER {ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


async def test_a_bad_token_on_a_public_route_is_ignored(client: httpx2.AsyncClient) -> None:
    response = await client.post("/api/say", json={"text": "hi"}, headers={"Authorization": "Bearer nonsense"})
    assert response.json() == {"said": "hi"}


async def test_a_revoked_session_is_refused_with_the_reason(client: httpx2.AsyncClient, app: App, ada: Person) -> None:
    app.ledger.revoke_session(ada.session_id)
    response = await client.get("/api/notes", headers=ada.bearer)
    assert "session" in assert_envelope(response, 401, "authentication_required")["message"].lower()


async def test_a_token_without_an_organization_is_forbidden(client: httpx2.AsyncClient, app: App, ada: Person) -> None:
    token = app.accounts.tokens.access(ada.user_id, None, ada.session_id)  # type: ignore[arg-type]
    response = await client.get("/api/notes", headers={"Authorization": f"Bearer {token}"})
    assert_envelope(response, 403, "forbidden")


async def test_a_token_with_a_mark_changed_is_refused(client: httpx2.AsyncClient, ada: Person) -> None:
    head, payload, signature = ada.token.split(".")
    forged = ".".join([head, payload, signature[:-2] + ("AA" if signature[-2:] != "AA" else "BB")])
    response = await client.get("/api/notes", headers={"Authorization": f"Bearer {forged}"})
    assert_envelope(response, 401, "authentication_required")
