"""A large graph: how fast it is loaded through the public bulk operation, and asked, beside the bare engines."""

import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.bench.stages import bench_server
from evals.bench.texts import Record, records
from evals.client import Client, encoded
from evals.timing import Spread, spread, timed_ms
from stores.errors import EngrainError
from stores.graph import GraphIndex, NeighbourQuery, Room
from stores.records import ORGANIZATION, Entity, Position, Relation
from tools.entity_models import BULK_LIMIT
from tools.explore import WALK_LIMIT
from tools.settings import PREFIX

ENTITIES, QUICK_ENTITIES = 50_000, 1_000
RELATIONS_EACH = 4
NAMES = ("RELATED_TO", "REQUIRES", "REFERENCES", "TOUCHES")
TYPES = ("task", "note", "pattern", "decision")
STATUSES = ("backlog", "todo", "doing", "blocked", "review", "done")
PRIORITIES = ("critical", "high", "medium", "low", "someday")
WITHOUT_VECTORS = {f"{PREFIX}EMBEDDING_PROVIDER": "none"}

Link = tuple[str, int]
"""The relationship and the number of an earlier record."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What the engines alone take: milliseconds, and relations per second."""

    get: Spread
    related: Spread
    traverse: Spread
    history: Spread
    page: Spread
    rate: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What the server took, each with its note."""

    get: tuple[Spread, str]
    related: tuple[Spread, str]
    traverse: tuple[Spread, str]
    history: tuple[Spread, str]
    page: tuple[Spread, str]


def measure_graph(measurement: Measurement, data: Path) -> None:
    """Load one organization with 50,000 records and 200,000 relations, ask about it, and compare.

    A quick run takes a fiftieth of that. Nothing is embedded: vectors have no part in any of it.
    """
    texts = records(QUICK_ENTITIES if measurement.quick else ENTITIES, seed=31)
    links = draw_links(len(texts))
    count = sum(map(len, links))
    measurement.say(f"a graph of {len(texts)} entities and {count} relations …")
    with bench_server(data, WITHOUT_VECTORS) as server, Client(server.address) as client:
        measurement.pid = server.process.pid
        with client.signed_up("graph") as first:
            ids, middle, acknowledged_s, shown_s = _load(first, texts, links)
            asked = _ask(measurement, first, ids, middle)
    floors = _measure_floors(texts, links, measurement.times(300))
    named = (
        ("get with its neighbours, of a large graph", asked.get, floors.get, None),
        ("related, of a large graph", asked.related, floors.related, 4),
        ("traverse to depth 3", asked.traverse, floors.traverse, 12),
        ("history at a date", asked.history, floors.history, 5),
        ("list page with filters", asked.page, floors.page, 6),
    )
    measurement.figures += [
        Figure.of(
            name, found[0], target=None if limit is None else Target(limit, limit), floor=floor.p50, note=found[1]
        )
        for name, found, floor, limit in named
    ]
    note = f"acknowledged and durable at {count / acknowledged_s:.0f} relations/s"
    measurement.figures.append(
        Figure("loading that graph, until it can be walked", "relations/s", count / shown_s, count,
               target=Target(2_000, 2_000, more_is_better=True), floor=floors.rate, note=note)
    )  # fmt: skip


def draw_links(count: int) -> list[list[Link]]:
    """Draw for each record what it relates to: records of earlier requests, because the server makes the ids."""
    draw = random.Random(32)  # noqa: S311 - the same graph on every run
    links: list[list[Link]] = []
    missing = RELATIONS_EACH * count
    for number in range(count):
        earlier = number - number % BULK_LIMIT
        # Later ones make up for the first, which have nothing to relate to.
        wanted = min(earlier, -(-missing // (count - number)))
        links.append([(draw.choice(NAMES), target) for target in draw.sample(range(earlier), wanted)])
        missing -= wanted
    return links


def _load(
    client: Client, texts: Sequence[Record], links: Sequence[Sequence[Link]]
) -> tuple[list[str], str, float, float]:
    """Return the ids, a moment in the middle, and the seconds until all was acknowledged and until it can be walked."""
    ids: list[str] = []
    middle = ""
    start = time.perf_counter()
    for first in range(0, len(texts), BULK_LIMIT):
        if first * 2 >= len(texts) and not middle:
            middle = datetime.now(UTC).isoformat()
        numbers = range(first, min(first + BULK_LIMIT, len(texts)))
        entities = [_fields(number, texts[number], _references(links[number], ids)) for number in numbers]
        answer = client.post("/api/entities/bulk", encoded({"entities": entities, "defer_embeddings": True}))
        ids += [each["id"] for each in answer["entities"]]
    acknowledged_s = time.perf_counter() - start
    deadline = time.monotonic() + 600
    while any(index["pending"] for index in client.get("/api/health/ready")["indexes"] if index["name"] == "graph"):
        if time.monotonic() > deadline:
            raise EngrainError("The graph is still not level.")
        time.sleep(0.05)
    shown_s = time.perf_counter() - start
    while client.pending():
        time.sleep(0.1)
    return ids, middle, acknowledged_s, shown_s


def _references(links: Sequence[Link], ids: Sequence[str]) -> list[str]:
    return [f"{name}:{ids[target]}" for name, target in links]


def _fields(number: int, text: Record, related_to: Sequence[str]) -> dict[str, Any]:
    return {
        "name": text.name,
        "content": text.content,
        "entity_type": TYPES[number % len(TYPES)],
        "tags": [f"area{number % 40}"],
        "metadata": _workflow(number),
        "related_to": list(related_to),
    }


def _workflow(number: int) -> dict[str, Any]:
    if TYPES[number % len(TYPES)] != "task":
        return {}
    return {"status": STATUSES[number % 7 % 6], "priority": PRIORITIES[number % 5]}


def _ask(measurement: Measurement, client: Client, ids: Sequence[str], middle: str) -> Asked:
    measurement.say("related, traverse, history, list …")
    draw = random.Random(33)  # noqa: S311 - the same questions on every run
    chosen = draw.sample(list(ids), min(len(ids) // 2, measurement.times(300) + 20))

    def explored(**fields: Any) -> tuple[Spread, str]:
        bodies = [encoded({"entity_id": each, **fields}) for each in chosen]
        timed_ms(lambda body: client.post("/api/search/explore", body), bodies[:20])
        return measurement.calls(lambda body: client.post("/api/search/explore", body), bodies[20:])

    paths = [f"/api/entities/{each}" for each in chosen]
    timed_ms(client.get, paths[:20])
    return Asked(
        get=measurement.calls(client.get, paths[20:]),
        related=explored(mode="related"),
        traverse=explored(mode="traverse", depth=3),
        history=_history(measurement, client, chosen, middle),
        page=_pages(measurement, client, len(chosen)),
    )


def _history(measurement: Measurement, client: Client, chosen: Sequence[str], middle: str) -> tuple[Spread, str]:
    bodies = [encoded({"mode": "history", "entity_id": each, "as_of": middle}) for each in chosen]
    timed_ms(lambda body: client.post("/api/search/temporal", body), bodies[:20])
    return measurement.calls(lambda body: client.post("/api/search/temporal", body), bodies[20:])


def _pages(measurement: Measurement, client: Client, count: int) -> tuple[Spread, str]:
    filters: list[dict[str, Any]] = [
        {"types": ["task"], "status": "doing,review", "priority": "high"},
        {"types": ["task"], "status": "todo", "tags": "area3,area7"},
        {"types": ["note", "decision"], "tags": "area1"},
        {"types": ["task"], "priority": "critical,high", "no_epic": True},
    ]
    bodies = [encoded({"limit": 50, **filters[number % len(filters)]}) for number in range(count)]
    timed_ms(lambda body: client.post("/api/search/explore", body), bodies[:20])
    return measurement.calls(lambda body: client.post("/api/search/explore", body), bodies[20:])


_NOW = datetime(2024, 5, 1, tzinfo=UTC)
_POSITION = Position("bench", 1, "bench")
_TABLES = """
CREATE TABLE entities (id TEXT PRIMARY KEY, type TEXT, status TEXT, priority TEXT, updated INTEGER, text TEXT)
    WITHOUT ROWID;
CREATE INDEX by_filter ON entities (type, status, priority, updated);
CREATE TABLE relations (id TEXT PRIMARY KEY, name TEXT, source TEXT, target TEXT, fact TEXT, known INTEGER)
    WITHOUT ROWID;
CREATE INDEX by_source ON relations (source);
CREATE INDEX by_target ON relations (target);
"""


def _measure_floors(texts: Sequence[Record], links: Sequence[Sequence[Link]], count: int) -> Floors:
    """Load bare SQLite, a commit for each request, and a bare graph; time one call for each kind of question."""
    entities = [_entity(number, text) for number, text in enumerate(texts)]
    relations = list(_relations(links))
    chosen = random.Random(34).sample([each.id for each in entities], min(count, len(entities)))  # noqa: S311
    query = NeighbourQuery(visibility=frozenset({ORGANIZATION}), limit_per_id=WALK_LIMIT)
    with tempfile.TemporaryDirectory(prefix="engrain-bench-") as folder, _database(Path(folder)) as database:
        start = time.perf_counter()
        _insert(database, entities, relations)
        # The engine by itself: without room, nothing is walked in memory.
        graph = GraphIndex.open(Path(folder) / "graph", room=Room(0))
        try:
            graph.load([entities], [relations], _POSITION)
            rate = len(relations) / (time.perf_counter() - start)
            return Floors(
                get=spread(timed_ms(lambda each: database.execute(_GET, (each,)).fetchall(), chosen)),
                related=spread(timed_ms(lambda each: graph.walk(each, depth=1, query=query, cap=WALK_LIMIT), chosen)),
                traverse=spread(timed_ms(lambda each: graph.walk(each, depth=3, query=query, cap=WALK_LIMIT), chosen)),
                history=spread(timed_ms(lambda each: database.execute(_HISTORY, (each, each)).fetchall(), chosen)),
                page=spread(timed_ms(lambda _: database.execute(_LIST).fetchall(), chosen)),
                rate=rate,
            )
        finally:
            graph.close()


_GET = "SELECT * FROM entities WHERE id = ?"
_HISTORY = "SELECT * FROM relations WHERE (source = ? OR target = ?) AND known < 1e12 ORDER BY known DESC LIMIT 50"
_LIST = (
    "SELECT * FROM entities WHERE type = 'task' AND status IN ('doing', 'review') AND priority = 'high'"
    " ORDER BY updated DESC LIMIT 50"
)


@contextmanager
def _database(folder: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(folder / "rows.sqlite", isolation_level="IMMEDIATE")
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_TABLES)
        yield database
    finally:
        database.close()


def _insert(database: sqlite3.Connection, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
    stated = iter(relations)
    for first in range(0, len(entities), BULK_LIMIT):
        page = entities[first : first + BULK_LIMIT]
        rows = [
            (each.id, each.entity_type, each.metadata.get("status"), each.metadata.get("priority"), 0, each.content)
            for each in page
        ]
        facts = [
            (each.id, each.name, each.source_id, each.target_id, each.fact, 0)
            for each in islice(stated, RELATIONS_EACH * len(page))
        ]
        with database:
            database.executemany("INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.executemany("INSERT INTO relations VALUES (?, ?, ?, ?, ?, ?)", facts)


def _entity(number: int, text: Record) -> Entity:
    return Entity(
        organization_id="bench", id=f"bench_{number:012x}", entity_type=TYPES[number % len(TYPES)], name=text.name,
        description="", content=text.content, category=None, languages=(), tags=(), metadata=_workflow(number),
        source_file=None, visibility=ORGANIZATION, memory_scope="organization", scope_key=None, project_id=None,
        principal_id="bench", revision=1, created_at=_NOW, updated_at=_NOW,
    )  # fmt: skip


def _relations(links: Sequence[Sequence[Link]]) -> Iterator[Relation]:
    for number, targets in enumerate(links):
        for place, (name, target) in enumerate(targets):
            yield Relation(
                organization_id="bench", id=f"relation_{number:08x}{place:04x}", name=name,
                source_id=f"bench_{number:012x}", target_id=f"bench_{target:012x}", fact="one relates to another",
                created_at=_NOW, expired_at=None, valid_at=_NOW, invalid_at=None, visibility=ORGANIZATION,
                principal_id="bench",
            )  # fmt: skip
