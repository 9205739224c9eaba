"""Records for the graph tests, and the engine they run on."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from stores.graph import Engine, NeighbourQuery
from stores.index import IndexBatch
from stores.records import ORGANIZATION, Entity, Position, Relation

ENGINE_VARIABLE = "ENGRAIN_TEST_GRAPH_ENGINE"
ENGINE = cast(Engine, os.environ.get(ENGINE_VARIABLE, "ladybug"))
OTHER_ENGINE: Engine = "kuzu" if ENGINE == "ladybug" else "ladybug"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERYTHING = NeighbourQuery(frozenset({ORGANIZATION}))
CHECKOUT = Path(__file__).parents[3]


def run_on_the_other_engine(tests: Path) -> str:
    """Run tests on the engine that this process must not load; return what they said. They must pass."""
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
    values: dict[str, Any] = {
        "organization_id": "o",
        "id": entity_id,
        "entity_type": "pattern",
        "name": "A name that the graph must not keep",
        "description": "",
        "content": "Words that the graph must not keep",
        "category": None,
        "languages": (),
        "tags": (),
        "metadata": {},
        "source_file": None,
        "visibility": ORGANIZATION,
        "memory_scope": "organization",
        "scope_key": None,
        "project_id": None,
        "principal_id": "user",
        "revision": 1,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Entity(**(values | changes))


def relation(relation_id: str, source_id: str, target_id: str, **changes: Any) -> Relation:
    values: dict[str, Any] = {
        "organization_id": "o",
        "id": relation_id,
        "name": "RELATED_TO",
        "source_id": source_id,
        "target_id": target_id,
        "fact": "A sentence that the graph must not keep",
        "created_at": NOW,
        "expired_at": None,
        "valid_at": NOW,
        "invalid_at": None,
        "visibility": ORGANIZATION,
        "principal_id": "user",
    }
    return Relation(**(values | changes))


def batch(
    entities: Sequence[Entity] = (),
    relations: Sequence[Relation] = (),
    *,
    gone: Sequence[str] = (),
    severed: Sequence[str] = (),
    sequence: int = 1,
) -> IndexBatch:
    return IndexBatch(entities, gone, relations, severed, Position("epoch", sequence, f"batch {sequence}"))


def entities(ids: Iterable[str]) -> list[Entity]:
    return [entity(each) for each in ids]
