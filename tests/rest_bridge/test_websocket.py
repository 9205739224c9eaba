import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from auth.principal import Principal
from rest_bridge.authentication import Authentication
from rest_bridge.metrics import RequestIds
from rest_bridge.server import Server, configuration
from rest_bridge.websocket import EVENT_NAMES, EventSocket
from stores.records import ORGANIZATION, EntityDraft
from tests.rest_bridge.harness import Person, listening, sign_up
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

SOON = 10


@asynccontextmanager
async def served(
    app: App, path: str = "/api/ws", endpoint: Callable[..., Any] = EventSocket, **intervals: float
) -> AsyncIterator[str]:
    async def authenticate(token: str) -> Principal:
        return await in_thread(app.accounts.authenticate, token)

    inner = Authentication(
        Starlette(routes=[WebSocketRoute(path, endpoint(app, authenticate, **intervals))]),
        authenticate=authenticate,
        address=lambda _scope: "",
    )
    async with listening(lambda started: Server(configuration(RequestIds(inner)), started)) as port:
        yield f"ws://127.0.0.1:{port}{path}"


@asynccontextmanager
async def listening_to(url: str, **headers: str) -> AsyncIterator[ClientConnection]:
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        yield socket


async def received(socket: ClientConnection) -> dict[str, Any]:
    with anyio.fail_after(SOON):
        frame = json.loads(await socket.recv())
    assert set(frame) == {"event", "data", "timestamp"}
    assert datetime.fromisoformat(frame["timestamp"]).utcoffset() is not None
    return dict(frame)


async def closing(socket: ClientConnection) -> tuple[int, str]:
    with anyio.fail_after(SOON), suppress(ConnectionClosed):
        while True:
            await socket.recv()
    return socket.close_code or 0, socket.close_reason or ""


async def answer(socket: ClientConnection, message: object) -> dict[str, Any]:
    await socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return await received(socket)


async def write(app: App, person: Person, name: str, visibility: str = ORGANIZATION) -> str:
    def store() -> str:
        entity_id = app.new_id("entity")
        draft = EntityDraft(entity_id, "episode", name, visibility, "organization", content="secret words")
        with app.ledger.transaction(person.organization_id, person.user_id) as transaction:
            transaction.records.create_entity(draft)
        return entity_id

    return await in_thread(store)


async def test_topics_are_answered_with_those_that_are_known(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        asked = {"type": "subscribe", "topics": ["entity_deleted", "weather", 7, "entity_created"]}
        frame = await answer(socket, asked)
        assert frame["event"] == "subscribed"
        assert frame["data"] == {"topics": ["entity_created", "entity_deleted"]}
        assert (await answer(socket, {"type": "subscribe", "topics": []}))["data"] == {"topics": []}
        assert (await answer(socket, {"type": "subscribe"}))["data"] == {"topics": []}
        everything = await answer(socket, {"type": "subscribe", "topics": list(EVENT_NAMES)})
        assert everything["data"] == {"topics": list(EVENT_NAMES)}


@pytest.mark.parametrize(
    "message",
    [
        "nonsense", b"\x00\xff", "[" * 60_000, "9" * 5_000, "[]", "7", '{"type": "dance"}', "{}",
        '{"type": "subscribe", "topics": "all"}',
    ],
)  # fmt: skip
async def test_unknown_messages_are_answered_with_an_error(app: App, ada: Person, message: str | bytes) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        frame = await answer(socket, message)
        assert frame["event"] == "error"
        assert frame["data"]["message"]
        assert (await answer(socket, {"type": "ping"}))["event"] == "pong", "the socket goes on"


async def test_a_pong_is_not_answered(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await socket.send('{"type": "pong"}')
        await socket.send('{"type": "heartbeat_ack"}')
        assert (await answer(socket, {"type": "ping"}))["event"] == "pong"
        assert socket.response is not None
        assert socket.response.headers["x-request-id"]


async def test_a_client_that_answers_heartbeats_stays(app: App, ada: Person) -> None:
    async with served(app, heartbeat_s=0.05, pong_timeout_s=5) as url, listening_to(url, **ada.bearer) as socket:
        for _ in range(4):
            frame = await received(socket)
            assert frame["event"] == "heartbeat"
            assert datetime.fromisoformat(frame["data"]["server_time"])
            await socket.send('{"type": "heartbeat_ack"}')


async def test_a_client_that_does_not_answer_is_dropped(app: App, ada: Person) -> None:
    async with served(app, heartbeat_s=0.05, pong_timeout_s=0.1) as url, listening_to(url, **ada.bearer) as socket:
        assert (await received(socket))["event"] == "heartbeat"
        assert await closing(socket) == (1008, "No pong came in time.")


async def test_who_logs_out_is_told_so_and_not_that_it_did_not_keep_up(app: App) -> None:
    grace = sign_up(app)
    async with served(app) as url, listening_to(url, **grace.bearer) as socket:
        assert (await answer(socket, {"type": "ping"}))["event"] == "pong"
        app.ledger.people.revoke_session(grace.session_id)
        await app.events.renew_user(grace.user_id)
        assert await closing(socket) == (1008, "The session has ended: log in again.")


async def test_a_message_that_is_too_big_ends_the_socket(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await socket.send("x" * 70_000)
        assert (await closing(socket))[0] == 1009


async def test_what_happens_to_a_record_is_told_without_its_text(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await answer(socket, {"type": "subscribe", "topics": ["entity_created"]})
        entity_id = await write(app, ada, "secret name")
        frame = await received(socket)
    assert frame["event"] == "entity_created"
    assert frame["data"]["id"] == entity_id
    assert frame["data"]["entity_type"] == "episode"
    assert "secret" not in json.dumps(frame)


async def test_events_of_other_topics_are_not_told(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await answer(socket, {"type": "subscribe", "topics": ["entity_deleted"]})
        await write(app, ada, "quiet")
        await answer(socket, {"type": "subscribe", "topics": []})
        loud = await write(app, ada, "loud")
        frames = [await received(socket)]
        while frames[-1]["data"]["id"] != loud:
            frames.append(await received(socket))
        assert len(frames) <= 2, "the first may still be told when the topics change before the hub looks"


async def test_a_bulk_write_does_not_send_attentive_listeners_away(app: App, ada: Person) -> None:
    size = 700

    def store() -> None:
        with app.ledger.transaction(ada.organization_id, ada.user_id) as transaction:
            for number in range(size):
                draft = EntityDraft(app.new_id("entity"), "episode", f"n{number}", ORGANIZATION, "organization")
                transaction.records.create_entity(draft)

    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await answer(socket, {"type": "subscribe", "topics": ["entity_created"]})
        await in_thread(store)
        found = {(await received(socket))["data"]["id"] for _ in range(size)}
    assert len(found) == size
