"""Records of three invented projects, and goals with the records of their packs.

No goal repeats the title of a required record. Some of `bob`'s records are private.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from evals.datasets.collection import json_lines
from tools.packs.facets import Intent, Layer, facets_of, types_of

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
