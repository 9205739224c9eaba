"""An open graph on the engine under test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.graph import GraphIndex
from tests.stores.graph.drafts import ENGINE, NOW


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[GraphIndex]:
    index = GraphIndex(tmp_path / "graph", engine=ENGINE, clock=lambda: NOW)
    yield index
    index.close()
