from pathlib import Path

import pytest

from rest_bridge.application import build_asgi
from rest_bridge.routes import FixedWindow
from stores.errors import RateLimited
from tests.rest_bridge.harness import Client, Person, assert_envelope, client_of, opened, settings_at
from tests.rest_bridge.notes import Notes

pytestmark = pytest.mark.anyio


def test_a_window_takes_its_number_of_tries_and_starts_anew() -> None:
    passed_s = 0
    limit = FixedWindow("3/minute", lambda: 1000.0 + passed_s)
    for _ in range(3):
        limit.take("ada")
    with pytest.raises(RateLimited) as refused:
        limit.take("ada")
    assert 1 <= refused.value.retry_after_s <= 60
    passed_s = refused.value.retry_after_s
    limit.take("ada")


async def test_a_route_refuses_more_tries_than_its_rate(client: Client, ada: Person) -> None:
    answers = [await client.post("/api/echo", json={"text": "x"}) for _ in range(3)]
    # A window may end between two of them; it cannot end twice.
    refused = [answer for answer in [*answers, await client.post("/api/echo")] if answer.status_code == 429]
    assert refused
    assert_envelope(refused[0], 429, "rate_limited")
    assert 1 <= int(refused[0].headers["retry-after"]) <= 60
    assert (await client.post("/api/echo", headers=ada.bearer)).status_code == 429, "a token buys no more tries"


async def test_limits_can_be_switched_off(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, rate_limit_enabled=False)
    async with opened(settings) as app, client_of(build_asgi(app, Notes().operations())) as client:
        answers = [await client.post("/api/echo", json={"text": "x"}) for _ in range(5)]
    assert {answer.status_code for answer in answers} == {200}
