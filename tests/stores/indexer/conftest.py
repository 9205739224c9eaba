"""A world per test, closed at its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.indexer.samples import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()
