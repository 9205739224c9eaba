"""The log socket, over a real server: entries about one's organization, for owners alone."""

import threading
from functools import partial
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from rest_bridge.websocket import LogSocket
from tests.rest_bridge.harness import Person, joined, sign_up
from tests.rest_bridge.test_websocket import answer, closing, listening_to, received
from tests.rest_bridge.test_websocket import served as serving_events
from tools.app import App

pytestmark = pytest.mark.anyio


served = partial(serving_events, path="/api/logs/stream", endpoint=LogSocket)


def write(app: App, person: Person, event: str, **more: Any) -> None:
    entry = {"event": event, "level": "info", "organization_id": person.organization_id, **more}
    thread = threading.Thread(target=app.logs, args=(None, "info", entry))
    thread.start()
    thread.join()


async def ready(socket: ClientConnection) -> None:
    assert (await answer(socket, {"type": "ping"}))["event"] == "pong"


async def test_an_owner_sees_entries_as_they_are_written_and_of_no_other_organization(app: App, ada: Person) -> None:
    stranger = sign_up(app)
    write(app, ada, "before")
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        await ready(socket)
        write(app, stranger, "elsewhere")
        app.logs(None, "info", {"event": "the operator's", "level": "info"})
        write(app, ada, "now", logger="http", path="/x")
        frame = await received(socket)
    assert frame["event"] == "log"
    assert frame["data"]["event"] == "now"
    assert frame["data"]["service"] == "http"
    assert frame["data"]["context"]["path"] == "/x"
    assert frame["timestamp"] == frame["data"]["timestamp"]


async def test_entries_are_narrowed_by_service_and_level(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(f"{url}?level=warning&service=http", **ada.bearer) as socket:
        await ready(socket)
        for event, level, logger in (("a", "info", "http"), ("b", "warning", "mcp"), ("c", "warning", "http")):
            write(app, ada, event, level=level, logger=logger)
        assert (await received(socket))["data"]["event"] == "c"
    async with served(app) as url, listening_to(f"{url}?level=loud", **ada.bearer) as socket:
        code, reason = await closing(socket)
    assert code == 1008
    assert "level" in reason


@pytest.mark.parametrize("role", ["admin", "member", "viewer"])
async def test_nobody_but_an_owner_may_listen(app: App, ada: Person, role: Any) -> None:
    other = joined(app, ada, role)
    async with served(app) as url, listening_to(url, **other.bearer) as socket:
        code, reason = await closing(socket)
    assert code == 1008
    assert "needs Owner" in reason


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}], ids=["none", "bad"])
async def test_without_a_token_that_holds_the_socket_is_closed(app: App, headers: dict[str, str]) -> None:
    async with served(app) as url, listening_to(url, **headers) as socket:
        assert (await closing(socket))[0] == 1008


async def test_who_is_no_owner_any_more_sees_nothing_of_what_follows(app: App, ada: Person) -> None:
    other = joined(app, ada, "owner")
    async with served(app) as url, listening_to(url, **other.bearer) as socket:
        await ready(socket)
        app.ledger.people.set_member_role(ada.organization_id, other.user_id, "member")
        await app.events.renew(ada.organization_id)
        write(app, ada, "secret")
        code, reason = await closing(socket)
    assert (code, "needs Owner" in reason) == (1008, True)


async def test_the_heartbeat_notices_a_lost_right_where_nothing_is_logged(app: App, ada: Person) -> None:
    other = joined(app, ada, "owner")
    async with served(app, heartbeat_s=0.05, pong_timeout_s=5) as url, listening_to(url, **other.bearer) as socket:
        assert (await received(socket))["event"] == "heartbeat"
        app.ledger.people.set_member_role(ada.organization_id, other.user_id, "viewer")
        await socket.send('{"type": "pong"}')
        assert (await closing(socket))[0] == 1008


async def test_topics_are_those_of_the_log(app: App, ada: Person) -> None:
    async with served(app) as url, listening_to(url, **ada.bearer) as socket:
        frame = await answer(socket, {"type": "subscribe", "topics": ["entity_created", "log"]})
        assert frame["data"] == {"topics": ["log"]}
        write(app, ada, "heard")
        assert (await received(socket))["data"]["event"] == "heard"
