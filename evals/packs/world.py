"""The suite of context packs: records of two colleagues in one organization, each as of its day."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from evals.client import Client
from evals.datasets.collection import digest_of, json_lines
from evals.dated_records import DatedRecords
from evals.harness.asking import ask_part
from evals.harness.server import joined, opened, served
from evals.options import Options
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal, Prepared
from stores.records import JsonObject
from tools.packs.facets import Intent, Layer, facets_of, types_of
from tools.records.entity_models import EntityFields
from tools.retrieval.plan import Mode
from tools.runtime.launch import ServerProcess

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The selection is tuned on `dev` only."""
Person = Literal["ada", "bob"]
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Kept:
    key: str
    type: str
    project: str | None
    days_ago: int
    name: str
    content: str
    status: str | None = None
    priority: str | None = None
    related: tuple[str, ...] = ()
    """Keys of other records."""
    author: Person = "ada"
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    id: str
    split: Split
    goal: str
    intent: Intent
    layer: Layer
    project: str | None
    must: frozenset[str]
    must_not: frozenset[str]
    """Superseded, archived, of another project or private."""
    off_topic: frozenset[str]
    """Readable but irrelevant."""
    asker: Person = "ada"


def read_records(folder: Path = FOLDER) -> list[Kept]:
    """Return the records, the oldest first."""
    rows = [Kept(**{**row, "related": tuple(row.get("related", ()))}) for row in json_lines(folder / "records.jsonl")]
    return sorted(rows, key=lambda record: -record.days_ago)


def read_goals(folder: Path = FOLDER) -> list[Goal]:
    """Return the goals.

    Raises:
        ValueError: A record is unknown or does not fit its facets.
    """
    records = {record.key: record for record in read_records(folder)}
    return [_goal(row, records) for row in json_lines(folder / "goals.jsonl")]


def _goal(row: dict[str, Any], records: dict[str, Kept]) -> Goal:
    sets = {name: frozenset(row[name]) for name in ("must", "must_not", "off_topic")}
    goal = Goal(**{**row, **sets})
    if unknown := (goal.must | goal.must_not | goal.off_topic) - records.keys():
        raise ValueError(f"{goal.id} names {', '.join(sorted(unknown))}, which is no record.")
    types = types_of(facets_of(goal.intent, goal.layer))
    if impossible := [key for key in goal.must if records[key].type not in types]:
        raise ValueError(f"{goal.id} cannot hold {', '.join(sorted(impossible))}.")
    if both := goal.must & (goal.must_not | goal.off_topic):
        raise ValueError(f"{goal.id} wants {', '.join(sorted(both))} and does not want it.")
    return goal


_BEGINNING_DAYS = 500


@dataclass(frozen=True, slots=True)
class World:
    records: Sequence[Kept]
    clients: Mapping[Person, Client]
    ids: Mapping[str, str]
    """Record ids by key, project ids by name."""

    @property
    def keys(self) -> Mapping[str, str]:
        """Keys by id."""
        return {record_id: key for key, record_id in self.ids.items()}

    def named(self, keys: Iterable[str]) -> list[str]:
        names = {record.key: record.name for record in self.records}
        return [names.get(key, key) for key in keys]


@contextmanager
def settled(journal: Journal, options: Options) -> Iterator[tuple[World, ServerProcess]]:
    """Serve the records."""
    records = read_records()
    with (
        journal.server_data() as folder,
        served(Path(folder), options.server) as server,
        Client(server.address) as ada,
        Client(server.address) as bob,
    ):
        clients: Mapping[Person, Client] = {"ada": ada, "bob": bob}
        ids = _stored(clients, records)
        ada.until_indexed()
        yield World(records, clients, ids), server


def _stored(clients: Mapping[Person, Client], records: Sequence[Kept]) -> dict[str, str]:
    stored, ada = DatedRecords(), clients["ada"]
    opened(ada)
    names = sorted({record.project for record in records if record.project is not None})
    projects = [(name, EntityFields(name=name.capitalize(), entity_type="project")) for name in names]
    stored.store(ada, _BEGINNING_DAYS, projects)
    # A member can read the projects that are there when they join.
    clients["bob"].present(joined(ada).token)
    for record in records:
        stored.store(clients[record.author], record.days_ago, [(record.key, _fields(record, stored.ids))])
    return stored.ids


def _fields(record: Kept, ids: Mapping[str, str]) -> EntityFields:
    metadata: JsonObject = {
        "project_id": ids[record.project] if record.project is not None else None,
        "status": record.status,
        "priority": record.priority,
        "memory_scope": record.scope,
    }
    return EntityFields(
        name=record.name,
        content=record.content,
        entity_type=record.type,
        metadata={key: value for key, value in metadata.items() if value is not None},
        related_to=list(record.related),
    )


NAME = "packs"
MODES: tuple[Mode, ...] = ("fast", "naive")


def prepare(options: Options) -> Prepared:
    """Read the labels; measuring takes about a minute."""
    data = {NAME: digest_of([*read_goals(), *read_records()])}
    return Prepared(data, partial(_measure, options=options))


def _measure(journal: Journal, options: Options) -> None:
    goals = read_goals()
    with settled(journal, options) as (world, server):
        _case(world, goals[0], "fast")
        for mode in MODES:
            part = Part(NAME, mode, "record", len(world.ids), "recall")
            ask_part(journal, server, part, map(partial(_case, world, mode=mode), goals))


def _case(world: World, goal: Goal, mode: Mode) -> Case:
    body: dict[str, Any] = {
        "goal": goal.goal,
        "intent": goal.intent,
        "layer": goal.layer,
        "limit": 24 if goal.layer == "recall" else 50,
        "record_exposure": False,
    }
    if goal.project is not None:
        body["project"] = world.ids[goal.project]
    if mode == "naive":
        body["evidence"] = {"retrieval_mode": mode, "limit": 1}
    client = world.clients[goal.asker]
    pack = client.post("/api/context/pack", body)
    found = tuple(world.keys[item["id"]] for section in pack["sections"] for item in section["items"])
    return Case(
        set=NAME,
        arm=mode,
        unit="record",
        id=goal.id,
        values={
            "recall": len(goal.must.intersection(found)) / len(goal.must),
            "nothing wrong": float(goal.must_not.isdisjoint(found)),
            "nothing off topic": float(goal.off_topic.isdisjoint(found)),
        },
        category=goal.split,
        question=goal.goal,
        wanted=dict.fromkeys(sorted(goal.must), 1),
        found=found,
        took_ms=client.took_ms,
        tokens=len(pack["markdown"]) // CHARACTERS_PER_TOKEN,
        best=world.named(found[:3]),
        missed=world.named(sorted(goal.must.difference(found))),
    )
