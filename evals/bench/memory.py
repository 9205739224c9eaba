"""Raw memories: how fast one is recalled among many, and whether fifty agents at once lose any."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.bench.stages import bench_server, until_level
from evals.bench.texts import Record, questions, records
from evals.client import Client, encoded
from evals.timing import spread, timed_ms
from stores.errors import EngrainError
from tools.launch import ServerProcess

MEMORIES, QUICK_MEMORIES = 10_000, 150
WORDS = 25
"""Of one memory: as much as somebody says at a stand-up."""
SENDERS = 4
"""Connections that store the memories."""
AGENTS = 50
EVERY_S, LASTING_S, QUICK_S = 2.0, 60.0, 4.0
RECALL = "recall, of raw memories"


def measure_memory(measurement: Measurement, data: Path) -> None:
    """Store 10,000 memories and recall them; then let fifty agents remember and recall every two seconds."""
    count = QUICK_MEMORIES if measurement.quick else MEMORIES
    measurement.say(f"{count} raw memories …")
    said = [_short(text) for text in records(count, seed=41)]
    with bench_server(data) as server, Client(server.address) as client, client.signed_up("memory") as first:
        measurement.pid = server.process.pid
        start = time.perf_counter()
        _store(server, first.token, said)
        acknowledged_s = time.perf_counter() - start
        until_level(first)
        rate = count / (time.perf_counter() - start)
        asked = [encoded({"query": text}) for text in questions(said, measurement.times(400) + 20, seed=42)]
        timed_ms(lambda body: first.post("/api/memory/raw/recall", body), asked[:20])
        recalled, cost = measurement.calls(lambda body: first.post("/api/memory/raw/recall", body), asked[20:])
        measurement.figures += [
            Figure("raw memories kept until embedded", "memories/s", rate, count,
                   note=f"acknowledged and durable at {count / acknowledged_s:.0f} memories/s"),
            Figure.of(RECALL, recalled, target=Target(25, 25), note=cost),
        ]  # fmt: skip
        _agents(measurement, server, first)


def _short(text: Record) -> Record:
    return Record(text.name, " ".join(text.content.split()[:WORDS]))


def _store(server: ServerProcess, token: str, said: Sequence[Record]) -> None:
    """Send them on a few connections at once; raises what went wrong on any."""
    faults: list[BaseException] = []

    def send(part: Sequence[Record]) -> None:
        try:
            with Client(server.address, token) as client:
                for text in part:
                    client.post("/api/memory/raw", {"raw_content": text.content, "title": text.name})
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            faults.append(error)

    _together([threading.Thread(target=send, args=(said[number::SENDERS],)) for number in range(SENDERS)])
    if faults:
        raise faults[0]


def _together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass(slots=True)
class _Crowd:
    """What fifty agents did; appending to a list is safe from any thread."""

    recalls_ms: list[float] = field(default_factory=list)
    remembers_ms: list[float] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def _agents(measurement: Measurement, server: ServerProcess, first: Client) -> None:
    measurement.say(f"{AGENTS} agents remember and recall …")
    before = int(first.get("/api/entities/captures?limit=1")["total"])
    crowd = _Crowd()
    rounds = int((QUICK_S if measurement.quick else LASTING_S) / EVERY_S)
    texts = [_short(text) for text in records(AGENTS * rounds, seed=43)]
    begin = time.monotonic() + 0.5
    _together(
        [
            threading.Thread(target=_live, args=(crowd, server, first.token, number, begin, texts[number::AGENTS]))
            for number in range(AGENTS)
        ]
    )
    until_level(first)
    lost = before + len(texts) - int(first.get("/api/entities/captures?limit=1")["total"])
    if crowd.faults or lost or len(crowd.kept) != len(texts):
        raise EngrainError(f"Of {len(texts)} memories {lost} are lost; {len(crowd.faults)} errors: {crowd.faults[:3]}")
    measurement.figures += [
        Figure.of(f"recall while {AGENTS} agents work", spread(crowd.recalls_ms), p95_target=Target(400, 400),
                  note=f"no error, none of {len(texts)} memories lost"),
        Figure.of("their remembering, acknowledged", spread(crowd.remembers_ms)),
    ]  # fmt: skip


def _live(crowd: _Crowd, server: ServerProcess, token: str, number: int, begin: float, texts: Sequence[Record]) -> None:
    """One agent: every two seconds it remembers something and recalls something, at a moment of its own."""
    phase = random.Random(number).uniform(0, EVERY_S)  # noqa: S311 - the same on every run
    asked = questions(list(texts), len(texts), seed=number)
    with Client(server.address, token) as client:
        for turn, (text, question) in enumerate(zip(texts, asked, strict=True)):
            time.sleep(max(0.0, begin + phase + turn * EVERY_S - time.monotonic()))
            try:
                start = time.perf_counter()
                said = {"title": text.name, "raw_content": text.content, "provenance": {"agent": number}}
                crowd.kept.append(client.post("/api/memory/raw", said)["id"])
                kept = time.perf_counter()
                client.post("/api/memory/raw/recall", {"query": question})
                crowd.remembers_ms.append((kept - start) * 1000)
                crowd.recalls_ms.append((time.perf_counter() - kept) * 1000)
            except EngrainError as error:
                crowd.faults.append(error.message)
