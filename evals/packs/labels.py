"""Reads the records of three invented projects, and the goals with what belongs in their packs. Refuses a damaged set.

No goal repeats the title of what it asks for. The records are by two colleagues; what `bob` wrote for himself is
private.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tools.packs.facets import Intent, Layer, facets_of, types_of

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The selection is tuned on `dev`; `test` is only measured."""
Person = Literal["ada", "bob"]
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Kept:
    """A record of the set."""

    key: str
    type: str
    project: str | None
    days_ago: int
    name: str
    content: str
    status: str | None = None
    priority: str | None = None
    related: tuple[str, ...] = ()
    """As in `related_to`, with keys for ids."""
    author: Person = "ada"
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, and what a colleague who knows everything would hand over for it."""

    id: str
    split: Split
    goal: str
    intent: Intent
    layer: Layer
    project: str | None
    must: frozenset[str]
    must_not: frozenset[str]
    """What is superseded, archived, of another project or somebody else's own."""
    off_topic: frozenset[str]
    """What may be read, and has nothing to do with it."""
    asker: Person = "ada"


def read_records(folder: Path = FOLDER) -> list[Kept]:
    """Return the records, the oldest first; what a record relates to comes before it.

    Raises:
        ValueError: A key occurs twice, or a record relates to what is not there before it.
    """
    rows = [Kept(**{**row, "related": tuple(row.get("related", ()))}) for row in _rows(folder / "records.jsonl")]
    records = sorted(rows, key=lambda record: -record.days_ago)
    known: set[str] = set()
    for record in records:
        if record.key in known:
            raise ValueError(f"{record.key} occurs twice.")
        for link in record.related:
            if link.partition(":")[2] not in known:
                raise ValueError(f"{record.key} relates to {link}, which is not there before it.")
        known.add(record.key)
    return records


def read_goals(folder: Path = FOLDER) -> list[Goal]:
    """Return the goals in the order of the file.

    Raises:
        ValueError: A goal names a record that does not exist or that its facets cannot hold.
    """
    records = {record.key: record for record in read_records(folder)}
    return [_goal(row, records) for row in _rows(folder / "goals.jsonl")]


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


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
