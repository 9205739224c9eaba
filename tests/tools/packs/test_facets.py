"""Every intent has its facets in order, every layer its bounds."""

from typing import get_args

import pytest

from tools.packs.facets import FACETS, INTENTS, LIMITS, SHELVES, Intent, facets_of, most_each, types_of
from tools.records.entity_types import ENTITY_TYPES


def test_the_tables_are_whole() -> None:
    assert set(SHELVES) == set(FACETS)
    assert set(INTENTS) == set(get_args(Intent))
    assert types_of(FACETS) <= set(ENTITY_TYPES)
    assert {facet for facets in INTENTS.values() for facet in facets} == set(FACETS)


@pytest.mark.parametrize(
    ("intent", "facets"),
    [
        ("build", ["active_work", "decisions", "procedures", "gotchas", "recent_memory"]),
        ("plan", ["decisions", "active_work"]),
        ("decide", ["decisions"]),
        ("debug", ["gotchas", "procedures", "active_work", "recent_memory"]),
    ],
)
def test_waking_up_shows_five_facets_at_most(intent: Intent, facets: list[str]) -> None:
    assert list(facets_of(intent, "wake")) == facets
    assert facets_of(intent, "recall") == INTENTS[intent]


@pytest.mark.parametrize(
    ("limit", "facets", "most"), [(24, 8, 3), (24, 7, 4), (8, 5, 2), (8, 1, 8), (1, 8, 2), (50, 5, 8)]
)
def test_no_facet_takes_more_than_its_share(limit: int, facets: int, most: int) -> None:
    assert most_each(limit, FACETS[:facets]) == most
    assert LIMITS == {"wake": 8, "recall": 24, "deep_search": 50}
