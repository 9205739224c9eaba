"""`engrain eval packs`: goals with what must be in their context pack and what must not, and how well that is met."""

from evals.packs.labels import Goal, Kept, read_goals, read_records
from evals.packs.run import prepare
from evals.packs.scoring import Packed, PackScore, score_packs

__all__ = [
    "Goal",
    "Kept",
    "PackScore",
    "Packed",
    "prepare",
    "read_goals",
    "read_records",
    "score_packs",
]
