"""`engrain eval reflection`: findings in labelled notes, and judgements of pairs of sentences."""

from evals.reflection.run import prepare
from evals.reflection.scoring import details

__all__ = ["details", "prepare"]
