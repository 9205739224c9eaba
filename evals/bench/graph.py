"""A large graph: bulk load and queries."""

import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from evals.bench.measurement import WARM_UP, Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.bench.texts import Record, records
from evals.client import Client, encoded
from stores.errors import EngrainError
from tools.records.entity_models import BULK_LIMIT

ENTITIES, QUICK_ENTITIES = 50_000, 1_000
RELATIONS_EACH = 4
NAMES = ("RELATED_TO", "REQUIRES", "REFERENCES", "TOUCHES")
TYPES = ("task", "note", "pattern", "decision")
STATUSES = ("backlog", "todo", "doing", "blocked", "review", "done")
PRIORITIES = ("critical", "high", "medium", "low", "someday")
FILTERS: Sequence[dict[str, Any]] = (
    {"types": ["task"], "status": "doing,review", "priority": "high"},
    {"types": ["task"], "status": "todo", "tags": "area3,area7"},
    {"types": ["note", "decision"], "tags": "area1"},
    {"types": ["task"], "priority": "critical,high", "no_epic": True},
)
EXPLORE, TEMPORAL = "/api/search/explore", "/api/search/temporal"
EarlierLink = tuple[str, int]
"""Relationship and number of an earlier record."""


def measure_graph(measurement: Measurement, data: Path) -> Iterator[Figure]:
    """Load 50,000 records and 200,000 relations without vectors, and query them; a quick run takes a fiftieth."""
    texts = records(QUICK_ENTITIES if measurement.quick else ENTITIES, seed=31)
    links = draw_links(len(texts))
    count = sum(map(len, links))
    measurement.say(f"a graph of {len(texts)} entities and {count} relations …")
    with signed_up(measurement, data, WITHOUT_VECTORS) as first:
        ids, middle, seconds = _load(first, texts, links)
        yield from _ask(measurement, first, ids, middle)
    target = Target(2_000, 2_000, more_is_better=True)
    yield Figure("loading that graph, until it can be walked", "relations/s", count / seconds, count, target=target)


def draw_links(count: int) -> list[list[EarlierLink]]:
    """Draw the relations of each record to records of earlier requests."""
    draw = random.Random(32)  # noqa: S311 - the same graph on every run
    links: list[list[EarlierLink]] = []
    missing = RELATIONS_EACH * count
    for number in range(count):
        earlier = number - number % BULK_LIMIT
        # Later ones make up for the first, which have nothing to relate to.
        wanted = min(earlier, -(-missing // (count - number)))
        links.append([(draw.choice(NAMES), target) for target in draw.sample(range(earlier), wanted)])
        missing -= wanted
    return links


def _load(
    client: Client, texts: Sequence[Record], links: Sequence[Sequence[EarlierLink]]
) -> tuple[list[str], str, float]:
    ids: list[str] = []
    middle = ""
    start = time.perf_counter()
    for first in range(0, len(texts), BULK_LIMIT):
        if first * 2 >= len(texts) and not middle:
            middle = datetime.now(UTC).isoformat()
        numbers = range(first, min(first + BULK_LIMIT, len(texts)))
        entities = [_fields(number, texts[number], links[number], ids) for number in numbers]
        answer = client.post("/api/entities/bulk", encoded({"entities": entities, "defer_embeddings": True}))
        ids += [each["id"] for each in answer["entities"]]
    deadline = time.monotonic() + 600
    while any(index["pending"] for index in client.get("/api/health/ready")["indexes"] if index["name"] == "graph"):
        if time.monotonic() > deadline:
            raise EngrainError("The graph is still not level.")
        time.sleep(0.05)
    seconds = time.perf_counter() - start
    client.until_indexed()
    return ids, middle, seconds


def _fields(number: int, text: Record, links: Sequence[EarlierLink], ids: Sequence[str]) -> dict[str, Any]:
    kind = TYPES[number % len(TYPES)]
    workflow = {"status": STATUSES[number % 7 % 6], "priority": PRIORITIES[number % 5]}
    return {
        "name": text.name,
        "content": text.content,
        "entity_type": kind,
        "tags": [f"area{number % 40}"],
        "metadata": workflow if kind == "task" else {},
        "related_to": [f"{name}:{ids[target]}" for name, target in links],
    }


def _ask(measurement: Measurement, client: Client, ids: Sequence[str], middle: str) -> Iterator[Figure]:
    measurement.say("related, traverse, history, list …")
    draw = random.Random(33)  # noqa: S311 - the same questions on every run
    chosen = draw.sample(list(ids), min(len(ids) // 2, measurement.times(300) + WARM_UP))
    pages = [{"limit": 50, **FILTERS[number % len(FILTERS)]} for number in range(len(chosen))]
    addresses = [f"/api/entities/{each}" for each in chosen]
    yield measurement.row("get with its neighbours, of a large graph", client.get, addresses)
    for name, path, bodies, limit in (
        ("related, of a large graph", EXPLORE, [{"entity_id": each, "mode": "related"} for each in chosen], 4),
        ("traverse to depth 3", EXPLORE, [{"entity_id": each, "mode": "traverse", "depth": 3} for each in chosen], 12),
        ("history at a date", TEMPORAL, [{"entity_id": each, "mode": "history", "as_of": middle} for each in chosen],
         5),
        ("list page with filters", EXPLORE, pages, 6),
    ):  # fmt: skip
        asked = [encoded(body) for body in bodies]
        yield measurement.row(name, partial(client.post, path), asked, Target(limit, limit))
