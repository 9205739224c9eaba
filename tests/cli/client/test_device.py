"""Waiting for a decision, against a real server whose clock the test moves instead of sleeping."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from cli.client.failure import CommandFailed, Unreachable
from cli.client.server import Server
from cli.login import Started, poll, start
from stores.clock import utc_now
from tests.rest_bridge.harness import Person, serving, settings_at, sign_up
from tools.app import App, open_app
from tools.catalogue import OPERATIONS
from tools.frame.operation import ENTRIES
from tools.people.device import GRANT_TYPE
from tools.runtime.log_ring import LogRing


@dataclass
class Time:
    passed_s: float = 0.0
    naps: list[float] = field(default_factory=list)
    on_nap: Callable[[int], object] = lambda _: None

    def utc(self) -> datetime:
        return utc_now() + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        return self.passed_s

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.passed_s += seconds
        self.on_nap(len(self.naps))


@dataclass
class World:
    app: App
    portal: BlockingPortal
    address: str
    time: Time
    ada: Person

    servers: list[Server] = field(default_factory=list)

    def server(self, address: str | None = None) -> Server:
        self.servers.append(Server(address or self.address))
        return self.servers[-1]

    def decided(self, started: Started, server: Server | None = None) -> dict[str, Any]:
        return poll(server or self.server(), started, self.time.sleep, self.time.monotonic)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    time = Time()
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal("asyncio"))
        settings = settings_at(tmp_path_factory.mktemp("served"), rate_limit_enabled=False)
        opening = open_app(settings, logs=LogRing(), clock=time.utc)
        app = stack.enter_context(portal.wrap_async_context_manager(opening))
        port = stack.enter_context(portal.wrap_async_context_manager(serving(app, OPERATIONS)))
        yield World(app, portal, f"http://127.0.0.1:{port}", time, portal.call(sign_up, app))


@pytest.fixture
def world(served: World) -> Iterator[World]:
    served.time.naps = []
    served.time.on_nap = lambda _: None
    yield served
    for server in served.servers:
        server.close()
    served.servers.clear()


@pytest.fixture
def started(world: World) -> Started:
    return start(world.server(), "engrain on laptop")


def decide(world: World, started: Started, approve: bool) -> None:
    body = {"user_code": started.user_code, "approve": approve}
    world.server().request("POST", "/api/auth/device/verify", body, token=world.ada.token)


def test_it_asks_at_the_interval_until_somebody_decides(world: World, started: Started) -> None:
    world.time.on_nap = lambda count: decide(world, started, True) if count == 3 else None
    tokens = world.decided(started)
    assert tokens["user"]["id"] == world.ada.user_id
    assert world.time.naps == [5.0, 5.0, 5.0]


def test_told_to_slow_down_it_waits_longer_from_then_on(world: World, started: Started) -> None:
    def ask_beside(count: int) -> None:
        if count == 1:
            body = {"grant_type": GRANT_TYPE, "device_code": started.device_code}
            with pytest.raises(CommandFailed):
                world.server().request("POST", "/api/auth/device/token", body)
        if count == 4:
            decide(world, started, True)

    world.time.on_nap = ask_beside
    assert world.decided(started)["user"]["id"] == world.ada.user_id
    assert world.time.naps == [5.0, 10.0, 10.0, 10.0]


def test_an_expired_code_ends_it_by_the_servers_word_and_by_its_own_clock(world: World, started: Started) -> None:
    with pytest.raises(CommandFailed, match="expired"):
        world.decided(started)
    assert world.time.passed_s >= 600
    with pytest.raises(CommandFailed, match="expired"):
        world.decided(replace(started, expires_in_s=3600))


def test_a_server_that_is_gone_for_a_while_is_asked_less_often(world: World, started: Started) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = world.server(f"http://127.0.0.1:{unused.getsockname()[1]}")

        def back(count: int) -> None:
            if count == 4:
                server.address = world.address
                decide(world, started, True)

        world.time.on_nap = back
        assert world.decided(started, server)["user"]["id"] == world.ada.user_id
    assert world.time.naps == [5.0, 10.0, 20.0, 30.0]


def test_too_many_programs_behind_one_address_wait_for_their_turn(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = settings_at(tmp_path_factory.mktemp("limited"))
    with ExitStack() as stack:
        opening = open_app(settings, logs=LogRing(), clock=world.time.utc)
        app = stack.enter_context(world.portal.wrap_async_context_manager(opening))
        served = serving(app, ENTRIES["tools.people.device"])
        port = stack.enter_context(world.portal.wrap_async_context_manager(served))
        server = world.server(f"http://127.0.0.1:{port}")
        started = start(server, "engrain")
        # On a busy machine so many requests take long enough for the limit to let more of them pass.
        for _ in range(1_000):
            with pytest.raises(CommandFailed) as refused:
                server.request("POST", "/api/auth/device/token", {"grant_type": GRANT_TYPE, "device_code": "guess"})
            if getattr(refused.value, "status", None) == 429:
                break
        assert getattr(refused.value, "status", None) == 429
        with pytest.raises(CommandFailed, match="expired"):
            world.decided(started, server)


@pytest.mark.parametrize(
    "answer",
    [{}, {"verification_uri": "javascript:alert(1)"}, {"verification_uri": "file:///etc/passwd"}, {"expires_in": "x"}],
    ids=["empty", "script", "file", "no number"],
)
def test_a_browser_is_sent_to_web_addresses_only(answer: dict[str, Any]) -> None:
    whole = {
        "verification_uri": "http://x/device",
        "device_code": "d",
        "user_code": "BCDF-GHJK",
        "expires_in": 600,
        "interval": 5,
    }

    class Answering(Server):
        def request(self, *_: Any, **__: Any) -> dict[str, Any]:
            return whole | answer if answer else {}

    with pytest.raises(Unreachable):
        start(Answering("http://x"), "engrain")
