"""Who calls: bearer header or cookie, and what a token that does not hold means."""

import httpx2
import pytest

from tests.rest_bridge.harness import Person, assert_envelope
from tools.app import App

pytestmark = pytest.mark.anyio

COOKIE = "engrain_access_token"


async def test_the_cookie_is_enough_to_read(client: httpx2.AsyncClient, ada: Person) -> None:
    response = await client.get("/api/notes", headers={"Cookie": f"{COOKIE}={ada.token}"})
    assert response.status_code == 200


async def test_a_header_of_another_scheme_leaves_the_cookie_to_count(client: httpx2.AsyncClient, ada: Person) -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "Cookie": f"{COOKIE}={ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


async def test_the_scheme_is_not_case_sensitive(client: httpx2.AsyncClient, ada: Person) -> None:
    headers = {"Authorization": f"bEARER {ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


async def test_a_bad_token_on_a_public_route_is_ignored(client: httpx2.AsyncClient) -> None:
    response = await client.post("/api/say", json={"text": "hi"}, headers={"Authorization": "Bearer nonsense"})
    assert response.json() == {"said": "hi"}


async def test_a_revoked_session_is_refused_with_the_reason(client: httpx2.AsyncClient, app: App, ada: Person) -> None:
    app.ledger.people.revoke_session(ada.session_id)
    response = await client.get("/api/notes", headers=ada.bearer)
    assert "session" in assert_envelope(response, 401, "authentication_required")["message"].lower()
