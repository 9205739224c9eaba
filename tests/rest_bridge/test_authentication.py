"""Who calls: bearer header or cookie, and what a token that does not hold means."""

import pytest

from tests.rest_bridge.harness import Client, Person

pytestmark = pytest.mark.anyio

COOKIE = "engrain_access_token"


async def test_a_header_of_another_scheme_leaves_the_cookie_to_count(client: Client, ada: Person) -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "Cookie": f"{COOKIE}={ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


async def test_the_scheme_is_not_case_sensitive(client: Client, ada: Person) -> None:
    headers = {"Authorization": f"bEARER {ada.token}"}
    assert (await client.get("/api/notes", headers=headers)).status_code == 200


async def test_a_bad_token_on_a_public_route_is_ignored(client: Client) -> None:
    response = await client.post("/api/say", json={"text": "hi"}, headers={"Authorization": "Bearer nonsense"})
    assert response.json() == {"said": "hi"}
