"""What it costs to know who asks: one authenticated request more than an anonymous one, and log-ins per second."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from auth.passwords import WORKERS, Passwords
from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.client import Client, encoded
from evals.timing import Spread, spread, timed_ms

PATH = "/api/auth/providers"
"""A route that answers anybody, and resolves a credential all the same: the same work with and without."""

EMAIL, PASSWORD = "login@localhost.test", "bench-account"
LIMIT = Target(0.5, 0.25)


def measure_identity(measurement: Measurement, address: str) -> None:
    """Time requests with and without a credential in turns, then log-ins beside bare Argon2."""
    measurement.say("authentication and log-ins …")
    with Client(address) as anybody, anybody.signed_up("login") as person:
        key = person.post("/api/auth/api-keys", {"name": "bench", "scopes": ["api:read"]})["api_key"]
        tokens = _log_ins(measurement, address)
        with Client(address, key) as program:
            _in_turns(measurement, anybody, {"access token": person, "API key": program})
        _first_use(measurement, address, anybody, tokens)


def _in_turns(measurement: Measurement, anybody: Client, callers: dict[str, Client]) -> None:
    rounds = measurement.times(1500)
    clients = [anybody, *callers.values()]
    times: list[list[float]] = [[] for _ in clients]
    for _ in range(rounds):
        for client, found in zip(clients, times, strict=True):
            found += timed_ms(client.get, [PATH])
    without, *spreads = map(spread, times)
    for name, asked in zip(callers, spreads, strict=True):
        figure = _dearer(f"authentication by {name}, more than without", asked, without, LIMIT)
        measurement.figures.append(figure)


def _first_use(measurement: Measurement, address: str, anybody: Client, tokens: Sequence[str]) -> None:
    """Use each token once, so that none is remembered."""
    without: list[float] = []
    found: list[float] = []
    with Client(address) as client:
        for token in tokens:
            without += timed_ms(anybody.get, [PATH])
            client.present(token)
            found += timed_ms(client.get, [PATH])
    measurement.figures.append(
        _dearer("authentication by a token never seen, the same", spread(found), spread(without))
    )


def _dearer(name: str, found: Spread, without: Spread, target: Target | None = None) -> Figure:
    note = f"{found.p50:.2f} / {without.p50:.2f} ms"
    return Figure(name, "ms", found.p50 - without.p50, found.n, target=target, note=note)


def _log_ins(measurement: Measurement, address: str) -> list[str]:
    """Log in as fast as the server takes it; before and after, the same passwords are verified without a server."""
    count = measurement.times(100)
    passwords = Passwords()
    stored = passwords.hash(PASSWORD)
    bare = _rate(lambda _: passwords.verify(stored, PASSWORD), count)
    tokens: list[str] = []
    body = encoded({"email": EMAIL, "password": PASSWORD})

    def log_in(_: int) -> None:
        with Client(address) as client:
            tokens.append(client.post("/api/auth/local/login", body)["access_token"])

    rate = _rate(log_in, count)
    bare = (bare + _rate(lambda _: passwords.verify(stored, PASSWORD), count)) / 2
    measurement.figures += [
        Figure("log-ins", "per s", rate, count, floor=bare, note=f"{WORKERS} at a time; alone: Argon2"),
        Figure("log-ins / bare Argon2", "%", 100 * rate / bare, count, target=Target(80, 95, more_is_better=True)),
    ]
    return tokens


def _rate(action: Callable[[int], object], count: int) -> float:
    with ThreadPoolExecutor(WORKERS) as pool:
        start = time.perf_counter()
        list(pool.map(action, range(count)))
        return count / (time.perf_counter() - start)
