"""Every intent has its facets in order, every layer its bounds."""

from typing import get_args

import pytest

from tools.packs.facets import FACETS, INTENTS, LIMITS, SHELVES, Intent, most_each, types_of
from tools.records.entity_types import ENTITY_TYPES


def test_the_tables_are_whole() -> None:
    assert set(SHELVES) == set(FACETS)
    assert set(INTENTS) == set(get_args(Intent))
    assert types_of(FACETS) <= set(ENTITY_TYPES)
    assert {facet for facets in INTENTS.values() for facet in facets} == set(FACETS)


@pytest.mark.parametrize(
    ("limit", "facets", "most"), [(24, 8, 3), (24, 7, 4), (8, 5, 2), (8, 1, 8), (1, 8, 2), (50, 5, 8)]
)
def test_no_facet_takes_more_than_its_share(limit: int, facets: int, most: int) -> None:
    assert most_each(limit, FACETS[:facets]) == most
    assert LIMITS == {"wake": 8, "recall": 24, "deep_search": 50}
