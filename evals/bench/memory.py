"""Raw memories: recall among many, and fifty concurrent agents."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from evals.bench.measurement import WARM_UP, Figure, Measurement, Target
from evals.bench.stages import signed_up
from evals.bench.texts import Record, questions, records
from evals.client import Client, encoded
from evals.machine import spread
from stores.errors import EngrainError

MEMORIES, QUICK_MEMORIES = 10_000, 150
WORDS = 25
SENDERS = 4
AGENTS = 50
EVERY_S, LASTING_S, QUICK_S = 2.0, 60.0, 4.0


def measure_memory(measurement: Measurement, data: Path) -> Iterator[Figure]:
    """Recall among 10,000 memories; then fifty agents remember and recall every two seconds."""
    count = QUICK_MEMORIES if measurement.quick else MEMORIES
    measurement.say(f"{count} raw memories …")
    texts = [_short(text) for text in records(count, seed=41)]
    with signed_up(measurement, data) as first:
        start = time.perf_counter()
        _store(first, texts)
        first.until_indexed()
        yield Figure("raw memories stored until embedded", "memories/s", count / (time.perf_counter() - start), count)
        asked = [encoded({"query": text}) for text in questions(texts, measurement.times(400) + WARM_UP, seed=42)]
        recall = partial(first.post, "/api/memory/raw/recall")
        yield measurement.row("recall, of raw memories", recall, asked, Target(25, 25))
        yield _measure_agents(measurement, first)


def _short(text: Record) -> Record:
    return Record(text.name, " ".join(text.content.split()[:WORDS]))


def _store(first: Client, texts: list[Record]) -> None:
    def send(part: list[Record]) -> None:
        with Client(first.address, first.token) as client:
            for text in part:
                client.post("/api/memory/raw", {"raw_content": text.content, "title": text.name})

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, [texts[number::SENDERS] for number in range(SENDERS)]))


def _measure_agents(measurement: Measurement, first: Client) -> Figure:
    measurement.say(f"{AGENTS} agents remember and recall …")
    before = int(first.get("/api/entities/captures?limit=1")["total"])
    rounds = int((QUICK_S if measurement.quick else LASTING_S) / EVERY_S)
    texts = [_short(text) for text in records(AGENTS * rounds, seed=43)]
    begin = time.monotonic() + 0.5

    def live(number: int) -> list[float]:
        return _recalls_of_agent(first, number, begin, texts[number::AGENTS])

    with ThreadPoolExecutor(AGENTS) as pool:
        times = [took for found in pool.map(live, range(AGENTS)) for took in found]
    first.until_indexed()
    if lost := before + len(texts) - int(first.get("/api/entities/captures?limit=1")["total"]):
        raise EngrainError(f"Of {len(texts)} memories {lost} are lost.")
    note = f"no error, none of {len(texts)} memories lost"
    return Figure.of(f"recall while {AGENTS} agents work", spread(times), p95_target=Target(400, 400), note=note)


def _recalls_of_agent(first: Client, number: int, begin: float, texts: list[Record]) -> list[float]:
    phase = random.Random(number).uniform(0, EVERY_S)  # noqa: S311 - the same on every run
    times = []
    with Client(first.address, first.token) as client:
        for turn, (text, question) in enumerate(zip(texts, questions(texts, len(texts), seed=number), strict=True)):
            time.sleep(max(0.0, begin + phase + turn * EVERY_S - time.monotonic()))
            body = {"title": text.name, "raw_content": text.content, "provenance": {"agent": number}}
            client.post("/api/memory/raw", body)
            client.post("/api/memory/raw/recall", {"query": question})
            times.append(client.took_ms)
    return times
