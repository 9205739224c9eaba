"""Every intent has its facets in order, every layer its bounds."""

import pytest

from tools.packs.facets import FACETS, LIMITS, most_each


@pytest.mark.parametrize(
    ("limit", "facets", "most"), [(24, 8, 3), (24, 7, 4), (8, 5, 2), (8, 1, 8), (1, 8, 2), (50, 5, 8)]
)
def test_no_facet_takes_more_than_its_share(limit: int, facets: int, most: int) -> None:
    assert most_each(limit, FACETS[:facets]) == most
    assert LIMITS == {"wake": 8, "recall": 24, "deep_search": 50}
