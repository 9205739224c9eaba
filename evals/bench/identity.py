"""The cost of authentication, and log-ins per second."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from auth.passwords import WORKERS, Passwords
from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.client import Client, encoded
from evals.timing import spread, timed_ms

PATH = "/api/auth/providers"
"""A public route that resolves a credential: equal work with and without."""
EMAIL, PASSWORD = "login@localhost.test", "bench-account"


def measure_identity(measurement: Measurement, address: str) -> None:
    """Time requests with and without a credential in turns, then log-ins beside bare Argon2."""
    measurement.say("authentication and log-ins …")
    with Client(address) as anybody, anybody.signed_up("login") as person:
        key = person.post("/api/auth/api-keys", {"name": "bench", "scopes": ["api:read"]})["api_key"]
        _measure_log_ins(measurement, address)
        with Client(address, key) as program:
            clients = {"": anybody, "access token": person, "API key": program}
            times: dict[str, list[float]] = {name: [] for name in clients}
            for _ in range(measurement.times(1500)):
                for name, client in clients.items():
                    times[name] += timed_ms(client.get, [PATH])
    without = spread(times.pop(""))
    for name, found in times.items():
        taken = spread(found)
        note = f"{taken.p50:.2f} / {without.p50:.2f} ms"
        title = f"authentication by {name}, more than without"
        measurement.figures.append(
            Figure(title, "ms", taken.p50 - without.p50, taken.n, target=Target(0.5, 0.25), note=note)
        )


def _measure_log_ins(measurement: Measurement, address: str) -> None:
    count = measurement.times(100)
    passwords = Passwords()
    stored = passwords.hash(PASSWORD)
    body = encoded({"email": EMAIL, "password": PASSWORD})

    def log_in(_: int) -> None:
        with Client(address) as client:
            client.post("/api/auth/local/login", body)

    before = _rate(lambda _: passwords.verify(stored, PASSWORD), count)
    rate = _rate(log_in, count)
    bare = (before + _rate(lambda _: passwords.verify(stored, PASSWORD), count)) / 2
    note = f"{rate:.1f} per s, {WORKERS} at a time"
    target = Target(80, 95, more_is_better=True)
    measurement.figures.append(Figure("log-ins / bare Argon2", "%", 100 * rate / bare, count, target=target, note=note))


def _rate(action: Callable[[int], object], count: int) -> float:
    with ThreadPoolExecutor(WORKERS) as pool:
        start = time.perf_counter()
        list(pool.map(action, range(count)))
        return count / (time.perf_counter() - start)
