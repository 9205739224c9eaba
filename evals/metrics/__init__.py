"""Measures of rankings, how sure a mean is, and whether a difference is one. Pure."""

from evals.metrics.interval import Interval, bootstrap
from evals.metrics.measures import MEASURES, measured, require_library, told_apart
from evals.metrics.paired import Difference, compared
from evals.metrics.separation import Scores, area, areas_compared

__all__ = [
    "MEASURES", "Difference", "Interval", "Scores", "area", "areas_compared", "bootstrap", "compared", "measured",
    "require_library", "told_apart",
]  # fmt: skip
