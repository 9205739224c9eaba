"""Records for the graph tests, and the engine they run on."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from stores.graph import Engine, NeighbourQuery
from stores.index import IndexBatch, Item
from stores.records import ORGANIZATION, Entity, Position, Relation
from tests.stores import records
from tests.stores.records import NOW

ENGINE_VARIABLE = "ENGRAIN_TEST_GRAPH_ENGINE"
ENGINE = cast(Engine, os.environ.get(ENGINE_VARIABLE, "ladybug"))
OTHER_ENGINE: Engine = "kuzu" if ENGINE == "ladybug" else "ladybug"
EVERYTHING = NeighbourQuery(frozenset({ORGANIZATION}))
CHECKOUT = Path(__file__).parents[3]


def run_on_the_other_engine(tests: Path) -> str:
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=CHECKOUT,
        env={**os.environ, ENGINE_VARIABLE: OTHER_ENGINE},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert child.returncode == 0, f"{child.stdout}\n{child.stderr}"
    return child.stdout


def entity(entity_id: str, **changes: Any) -> Entity:
    words = {"name": "A name that the graph must not keep", "content": "Words that the graph must not keep"}
    return records.entity(entity_id, **words | changes)


def relation(relation_id: str, source_id: str, target_id: str, **changes: Any) -> Relation:
    values: dict[str, Any] = {
        "organization_id": "o", "id": relation_id, "name": "RELATED_TO", "source_id": source_id,
        "target_id": target_id, "fact": "A sentence that the graph must not keep", "created_at": NOW,
        "expired_at": None, "valid_at": NOW, "invalid_at": None, "visibility": ORGANIZATION, "principal_id": "user",
    }  # fmt: skip
    return Relation(**(values | changes))


def batch(
    entities: Sequence[Entity] = (),
    relations: Sequence[Relation] = (),
    *,
    gone: Sequence[str] = (),
    severed: Sequence[str] = (),
    sequence: int = 1,
) -> IndexBatch:
    items = [
        *(Item("entity", each) for each in gone),
        *(Item("relation", each) for each in severed),
        *(Item("entity", each.id, each) for each in entities),
        *(Item("relation", each.id, each) for each in relations),
    ]
    return IndexBatch(items, Position("epoch", sequence, f"batch {sequence}"))


def entities(ids: Iterable[str]) -> list[Entity]:
    return [entity(each) for each in ids]
