from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rest_bridge.application import build_asgi
from stores.embedding import EmbeddingFailed, Passage
from stores.errors import Unavailable
from tests.rest_bridge.harness import Client, client_of, settings_at
from tests.rest_bridge.notes import Notes
from tools.app import App, open_app
from tools.runtime.log_ring import LogRing
from tools.runtime.version import VERSION, commit

pytestmark = pytest.mark.anyio


async def test_health_needs_no_token(client: Client) -> None:
    body = (await client.get("/api/health")).json()
    assert body["status"] == "healthy"
    assert body["version"] == VERSION
    assert body["runtime"] == {"name": "engrain", "commit": commit()}
    root = (await client.get("/api/")).json()
    assert (root["name"], root["version"], root["docs"], root["websocket"]) == (
        "Engrain", VERSION, "/api/docs", "/api/ws",
    )  # fmt: skip


async def test_readiness_names_each_dependency_and_index(client: Client) -> None:
    response = await client.get("/api/health/ready")
    body = response.json()
    assert response.status_code == 200
    assert body["status"] == "ready"
    assert {"name": "ledger", "ready": True}.items() <= body["dependencies"][0].items()
    assert {index["name"] for index in body["indexes"]} == {"lexical", "graph", "vectors"}
    assert all(index["pending"] == 0 for index in body["indexes"])
    facts = {"name", "state", "pending", "watermark", "refused"}
    assert all(set(index) == facts for index in body["indexes"]), "not how many organizations there are"


async def test_a_model_that_does_not_answer_is_told_and_so_is_its_recovery(tmp_path: Path) -> None:
    model = Fickle()
    async with (
        open_app(
            settings_at(tmp_path, embedding_provider="openai", embedding_model="m"), logs=LogRing(), embedder=model
        ) as app,
        client_of(build_asgi(app, Notes().operations())) as client,
    ):

        async def embedder() -> tuple[bool, str]:
            found = (await client.get("/api/health/ready")).json()
            assert found["status"] == "ready", "search by words goes on"
            told = next(each for each in found["dependencies"] if each["name"] == "embedder")
            return told["ready"], told["detail"]

        assert app.embedder is not None
        app.embedder.embed_query("x")
        assert await embedder() == (True, "openai: ready")
        model.fails = True
        with pytest.raises(EmbeddingFailed):
            app.embedder.embed_query("x")
        assert await embedder() == (False, "openai: failing")
        model.fails = False
        app.embedder.embed_documents(["x"])
        assert await embedder() == (True, "openai: ready")


class Fickle:
    model = "fickle"
    dimension = 2
    fails = False

    def embed_query(self, text: str) -> np.ndarray:
        if self.fails:
            raise EmbeddingFailed("The server at 10.0.0.5 does not answer.")
        return np.array([1, 0], np.float32)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.embed_query(text) for text in texts])

    def split(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def close(self) -> None:
        """Nothing to release."""


class Gone:
    def ping(self) -> None:
        raise Unavailable("The database does not answer.")


async def test_a_ledger_that_is_gone_is_not_ready(app: App) -> None:
    without = replace(app, ledger=Gone())
    async with client_of(build_asgi(without, Notes().operations())) as client:
        response = await client.get("/api/health/ready")
        assert response.status_code == 503
        assert response.json()["status"] == "not_ready"
        assert response.json()["dependencies"][0]["detail"] == "The database does not answer."
        assert (await client.get("/api/health")).status_code == 200
