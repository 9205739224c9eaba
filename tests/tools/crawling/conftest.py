"""An application that may crawl this machine's own address, and no other private one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from stores.embedding import Embedder
from tests.ledgers import new_ledger
from tests.people import person
from tests.tools.crawling.site import TestSite, site
from tools.app import App, open_app
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings


@pytest.fixture(scope="module")
async def shared_app(
    tmp_path_factory: pytest.TempPathFactory, embedder: Embedder, anyio_backend: str
) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("shared")
    new_ledger(folder)
    settings = Settings(data_dir=folder, late_interaction=False, crawl_networks=("127.0.0.1",), secrets="redact")
    async with open_app(settings, logs=LogRing(), embedder=embedder) as opened:
        await person(opened, "operator")
        yield opened


@pytest.fixture
def pages() -> Iterator[TestSite]:
    with site() as running:
        yield running
