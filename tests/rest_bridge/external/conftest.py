"""One provider's process for all tests, one server for each module, a browser for each test."""

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from stores.records import Organization
from tests.oidc_provider.harness import Browser, Provider, oidc_setting, provider_process
from tests.rest_bridge.harness import opened, serving, settings_at, sign_up
from tools.app import App
from tools.catalogue import OPERATIONS

FRONTEND = "https://app.example.com/ui"
SESSION_MINUTES = 30


@pytest.fixture(scope="session")
def process() -> Iterator[Provider]:
    with provider_process() as process:
        yield process


@pytest.fixture
def provider(process: Provider) -> Provider:
    process.behave()
    return process


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, process: Provider, anyio_backend: str) -> AsyncIterator[App]:
    oidc = oidc_setting(
        process.oidc(),
        process.oidc("quiet", silent_refresh_enabled=True, role_claim_override="groups"),
        process.oidc("homeless", organization_slug="nowhere"),
        process.oidc("secretless", client_secret_env="NOT_SET"),
        process.oidc("unreachable", issuer="http://127.0.0.1:9"),
        process.oidc("closed", issuer=f"{process.address}/none"),
        session_minutes=SESSION_MINUTES,
    )
    more = {"frontend_url": FRONTEND, "rate_limit_enabled": False, **process.codehost()}
    async with opened(settings_at(tmp_path_factory.mktemp("data"), oidc=oidc, **more)) as app:
        sign_up(app)
        app.ledger.people.create_organization(Organization("acme-id", "Acme", "acme", False, app.clock()))
        yield app


@pytest.fixture(scope="module")
async def base(app: App) -> AsyncIterator[str]:
    async with serving(app, OPERATIONS) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def browser(base: str) -> AsyncIterator[Browser]:
    async with httpx2.AsyncClient(headers={"User-Agent": "Firefox"}, trust_env=False, timeout=30) as client:
        yield Browser(client, base)
