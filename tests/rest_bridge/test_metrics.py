from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from prometheus_client import generate_latest

from rest_bridge.application import build_asgi
from rest_bridge.metrics import Metrics
from tests.rest_bridge.harness import BASE, Client, Person, assert_envelope, opened, settings_at
from tests.rest_bridge.notes import Notes
from tools.app import App

pytestmark = pytest.mark.anyio

TOKEN = "scrape-me"


@asynccontextmanager
async def scraping(folder: Path, address: str, **settings: str) -> AsyncIterator[Client]:
    async with opened(settings_at(folder, **settings)) as app:
        asgi = build_asgi(app, Notes().operations())
        transport = httpx2.ASGITransport(asgi, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
            yield client


async def test_requests_are_counted_by_template_and_status(client: Client, ada: Person) -> None:
    await client.get("/api/notes/n1", headers=ada.bearer)
    await client.get("/api/notes/n2", headers=ada.bearer)
    await client.get("/no/such/path")
    response = await client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'engrain_http_requests_total{method="GET",route="/api/notes/{note_id}",status="404"} 2.0' in response.text
    assert 'engrain_http_requests_total{method="GET",route="unmatched",status="404"} 1.0' in response.text
    assert 'engrain_http_request_duration_seconds_count{method="GET",route="/api/notes/{note_id}"} 2.0' in response.text
    assert 'engrain_index_pending_changes{index="vectors"} 0.0' in response.text
    for outcome in ("written", "dropped"):
        assert f'engrain_exposures{{outcome="{outcome}"}} 0.0' in response.text
    assert "n1" not in response.text


@pytest.mark.parametrize(
    ("address", "environment", "status"),
    [("127.0.0.1", "development", 200), ("::1", "development", 200), ("10.0.0.7", "development", 404),
     ("127.0.0.1", "production", 404), ("testclient", "development", 404)],
)  # fmt: skip
async def test_this_machine_alone_may_scrape_and_in_development_alone(
    tmp_path: Path, address: str, environment: str, status: int
) -> None:
    async with scraping(tmp_path, address, environment=environment) as client:
        found = await client.get("/metrics")
        assert found.status_code == status
        if status == 404:
            assert_envelope(found, 404, "not_found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"X-Engrain-Metrics-Token": TOKEN}, 200),
        ({"Authorization": "Bearer wrong"}, 404),
        ({"X-Engrain-Metrics-Token": "wrong"}, 404),
        ({"X-Engrain-Metrics-Token": ""}, 404),
        ({}, 404),
    ],
)
async def test_the_token_opens_the_page_from_anywhere(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    options = {"environment": "production", "metrics_scrape_token": TOKEN}
    async with scraping(tmp_path, "10.0.0.7", **options) as client:
        assert (await client.get("/metrics", headers=headers)).status_code == status


def test_made_up_methods_do_not_fill_the_registry(app: App) -> None:
    metrics = Metrics(app)
    for number in range(50):
        metrics.observe(f"M{number}", "unmatched", 405, 0.001)
    told = generate_latest(metrics.registry).decode().splitlines()
    lines = [line for line in told if line.startswith("engrain_http_requests_total")]
    assert lines == ['engrain_http_requests_total{method="other",route="unmatched",status="405"} 50.0']
