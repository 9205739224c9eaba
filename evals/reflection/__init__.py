"""`engrain eval reflection`: findings in labelled notes, and judgements of sentence pairs."""

from evals.reflection.run import prepare
from evals.reflection.scoring import details

__all__ = ["details", "prepare"]
