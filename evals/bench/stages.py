"""Stages of the bench on one data folder, over HTTP against a real server process."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import cycle, pairwise
from pathlib import Path

from auth.passwords import WORKERS, Passwords
from evals.bench.measurement import WARM_UP, Figure, Measurement, Target
from evals.bench.texts import Record, questions, records
from evals.client import Client, encoded
from evals.harness.server import served
from evals.machine import resident_mb, spread, timed_ms
from evals.reflection.labelled_notes import SPLITS, read_notes
from stores.embedding.builtin import BuiltinEmbedder, LateEncoder
from stores.embedding.workers import Workers
from stores.errors import EngrainError
from tools.records.entity_models import BULK_LIMIT
from tools.runtime.launch import ServerProcess
from tools.runtime.settings import PREFIX, Settings

PATH = "/api/auth/providers"
"""A public route that resolves a credential: equal work with and without."""
EMAIL, PASSWORD = "login@localhost.test", "bench-account"


def measure_identity(measurement: Measurement, address: str) -> Iterator[Figure]:
    """Time requests with and without a credential in turns, then log-ins beside bare Argon2."""
    measurement.say("authentication and log-ins …")
    with Client(address) as anybody, anybody.signed_up("login") as person:
        key = person.post("/api/auth/api-keys", {"name": "bench", "scopes": ["api:read"]})["api_key"]
        yield _measure_log_ins(measurement, address)
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
        yield Figure(title, "ms", taken.p50 - without.p50, taken.n, target=Target(0.5, 0.25), note=note)


def _measure_log_ins(measurement: Measurement, address: str) -> Figure:
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
    return Figure("log-ins / bare Argon2", "%", 100 * rate / bare, count, target=target, note=note)


def _rate(action: Callable[[int], object], count: int) -> float:
    with ThreadPoolExecutor(WORKERS) as pool:
        start = time.perf_counter()
        list(pool.map(action, range(count)))
        return count / (time.perf_counter() - start)


LENGTH = 20_000
"""Characters."""
LIMIT = 12


def measure_reflection(measurement: Measurement, client: Client) -> Figure:
    measurement.say("reflections …")
    text = "\n\n".join(note.notes for split in SPLITS for note in read_notes(split))
    text = (text * (LENGTH // len(text) + 1))[:LENGTH]
    body = encoded({"content": text, "limit": LIMIT, "persist_source": False})
    bodies = [body] * (WARM_UP + max(5, measurement.times(60)))
    name = f"reflection of {LENGTH:,} characters"
    return measurement.row(name, lambda body: client.post("/api/context/reflect", body), bodies, Target(300, 200))


BUSY_SHARE = 0.2
"""Share of the entities written while a second tenant searches; the ingest rate covers the rest."""

KINDS: tuple[tuple[str, dict[str, str]], ...] = (
    ("note", {}), ("decision", {}), ("rule", {}), ("procedure", {}), ("pattern", {}), ("artifact", {}), ("task", {}),
    ("task", {"status": "done"}),
)  # fmt: skip
"""Types and metadata of the records, in turn: one for each facet of context packs."""


WITHOUT_VECTORS = {f"{PREFIX}EMBEDDING_PROVIDER": "none"}


def bench_server(data: Path, settings: Mapping[str, str] | None = None) -> AbstractContextManager[ServerProcess]:
    # Logs as by default. If bytecode is not written, every start compiles a thousand modules.
    unset = {f"{PREFIX}LOG_LEVEL": "", "PYTHONDONTWRITEBYTECODE": ""}
    return served(data, {**unset, **(settings or {})})


@contextmanager
def signed_up(measurement: Measurement, data: Path, settings: Mapping[str, str] | None = None) -> Iterator[Client]:
    """Serve a new data folder for one stage; yield the client of its only account."""
    with bench_server(data, settings) as server, Client(server.address) as client, client.signed_up("one") as first:
        measurement.pid = server.process.pid
        yield first


def measure_starts(measurement: Measurement, name: str, folders: Sequence[Path]) -> Figure:
    """Time from process start to readiness for each folder."""
    measurement.say(f"{name} …")
    times = []
    for folder in folders:
        start = time.perf_counter()
        with bench_server(folder):
            times.append(time.perf_counter() - start)
    found = spread(times)
    return Figure(name, "s", found.p50, found.n, found.p95, Target(4, 2))


def measure_server(measurement: Measurement, data: Path) -> Iterator[Figure]:
    with bench_server(data) as server, Client(server.address) as client:
        with client.signed_up("first") as first, client.signed_up("second") as second:
            measurement.pid = server.process.pid
            measurement.round_trip_ms = spread(timed_ms(client.get, ["/api/health"] * 300)).p50
            busy = int(len(measurement.texts) * BUSY_SHARE)
            yield from _ingest(measurement, first, measurement.texts[busy:])
            yield from _two_tenants(measurement, first, second, measurement.texts[:busy])
            yield from _single_requests(measurement, first)
            yield _searches(measurement, first)
            yield measure_reflection(measurement, first)
            yield _packs(measurement, first)
            yield from measure_identity(measurement, server.address)
        resident, peak = resident_mb(measurement.pid)
        note = "" if peak is None else f"peak {peak:.0f} MB"
        yield Figure("resident memory after all that", "MB", resident, 1, target=Target(900, 500), note=note)


def _ingest(measurement: Measurement, client: Client, texts: Sequence[Record]) -> Iterator[Figure]:
    measurement.say(f"ingest of {len(texts)} entities …")
    sample = texts[: measurement.times(400)]
    before = _bare_rate(sample)
    batches = bodies(texts)
    start = time.perf_counter()
    for body in batches:
        client.post("/api/entities/bulk", body)
    accepted_s = time.perf_counter() - start
    client.until_indexed()
    rate = len(texts) / (time.perf_counter() - start)
    after = _bare_rate(sample)
    bare = (before + after) / 2
    accepted = f"acknowledged and durable at {len(texts) / accepted_s:.0f} records/s"
    yield Figure("ingest until embedded", "records/s", rate, len(texts), note=accepted)
    note = f"bare: {before:.1f} records/s before, {after:.1f} after, n={len(sample)} each"
    target = Target(85, 95, more_is_better=True)
    yield Figure("ingest rate / bare models", "%", 100 * rate / bare, len(texts), target=target, note=note)


def _bare_rate(texts: Sequence[Record]) -> float:
    """Read texts with the default models, as a server does; return how many per second."""
    with ExitStack() as stack:
        workers = Workers(Settings().reading_threads)
        embedder = stack.enter_context(closing(BuiltinEmbedder(workers)))
        reader = stack.enter_context(closing(LateEncoder(workers)))
        embedder.embed_query("load the model")
        reader.encode_question("ready")
        start = time.perf_counter()
        said = [text.searchable for text in texts]
        embedder.embed_documents(said)
        passages = [text[passage.start : passage.end] for text in said for passage in reader.split(text)]
        if any(found is None for found in reader.encode_passages(passages)):
            raise EngrainError("A model could not read a text.")
        return len(texts) / (time.perf_counter() - start)


def bodies(texts: Sequence[Record]) -> list[bytes]:
    """Make the bodies of bulk writes."""
    entities = [
        {"name": text.name, "content": text.content, "entity_type": kind, "metadata": metadata}
        for text, (kind, metadata) in zip(texts, cycle(KINDS))
    ]
    batches = (entities[first : first + BULK_LIMIT] for first in range(0, len(entities), BULK_LIMIT))
    return [encoded({"entities": batch, "defer_embeddings": True}) for batch in batches]


def _asking(client: Client) -> Callable[[bytes], object]:
    return lambda body: client.post("/api/search", body)


def _two_tenants(measurement: Measurement, first: Client, second: Client, texts: Sequence[Record]) -> Iterator[Figure]:
    measurement.say("a second tenant's searches, quiet and while the first ingests …")
    own = records(measurement.times(500), seed=21)
    for body in bodies(own):
        second.post("/api/entities/bulk", body)
    second.until_indexed()
    asked = [encoded({"query": text}) for text in questions(own, measurement.times(600) + WARM_UP, seed=22)]
    half = len(asked) // 2
    quiet, cost = measurement.warmed_calls(_asking(second), asked[:half])
    busy = spread(_search_while_ingesting(first, second, asked[half:], bodies(texts)))
    note = f"{busy.p95:.1f} / {quiet.p95:.1f} ms"
    yield Figure.of("second tenant's search, quiet", quiet, note=cost)
    yield Figure.of("second tenant's search, first ingests", busy, note="until its last record is embedded")
    yield Figure("its p95 while ingesting / quiet", "x", busy.p95 / quiet.p95, busy.n, target=Target(2, 1), note=note)


def _search_while_ingesting(
    first: Client, second: Client, asked: Sequence[bytes], bodies: Sequence[bytes]
) -> list[float]:
    def ingest() -> None:
        for body in bodies:
            first.post("/api/entities/bulk", body)
        first.until_indexed()

    with ThreadPoolExecutor(1) as pool:
        ingested = pool.submit(ingest)
        times: list[float] = []
        for body in cycle(asked):
            if ingested.done():
                break
            times += timed_ms(_asking(second), [body])
        ingested.result()
    return times


def _single_requests(measurement: Measurement, client: Client) -> Iterator[Figure]:
    measurement.say("single creates and reads …")
    fresh = records(measurement.times(400), seed=11)
    bodies = [encoded({"name": text.name, "content": text.content, "entity_type": "note"}) for text in fresh]
    split = len(bodies) * 3 // 4
    created: list[str] = []

    def create(body: bytes) -> None:
        created.append(client.post("/api/entities", body)["id"])

    found, cost = measurement.calls(create, bodies[:split])
    yield Figure.of("create, acknowledged (sync=false)", found, target=Target(8, 5), note=cost)
    client.until_indexed()
    found, cost = measurement.calls(lambda body: client.post("/api/entities?sync=true", body), bodies[split:])
    yield Figure.of("create, in every index (sync=true)", found, target=Target(120, 60), note=cost)
    client.until_indexed()
    found, cost = measurement.calls(client.get, [f"/api/entities/{entity_id}" for entity_id in created] * 2)
    yield Figure.of("GET entity", found, target=Target(3, 2), note=cost)


def _searches(measurement: Measurement, client: Client) -> Figure:
    measurement.say("searches …")
    asked = [encoded({"query": text}) for text in questions(measurement.texts, measurement.times(500) + WARM_UP)]
    return measurement.row("hybrid search", _asking(client), asked, Target(25, 15), Target(60, 35))


def _packs(measurement: Measurement, client: Client) -> Figure:
    measurement.say("context packs …")
    goals = questions(measurement.texts, measurement.times(300) + WARM_UP, seed=3)
    for goal in goals[: measurement.times(100)]:
        _relate(client, goal)
    client.until_indexed()
    asked = [encoded({"goal": goal}) for goal in goals]
    sizes: list[int] = []

    def ask(body: bytes) -> None:
        sizes.append(client.post("/api/context/pack", body)["total_items"])

    found, cost = measurement.warmed_calls(ask, asked)
    note = f"{sum(sizes) / len(sizes):.1f} items on average, {cost}"
    return Figure.of("context pack of 24 items", found, target=Target(80, 80), note=note)


def _relate(client: Client, question: str) -> None:
    ids = [hit["id"] for hit in client.post("/api/search", {"query": question})["results"]]
    relations = [{"source_id": one, "name": "REQUIRES", "target_id": other} for one, other in pairwise(ids)]
    client.post("/api/relations/bulk", {"relations": relations})
