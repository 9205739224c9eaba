"""`engrain eval history`: gain of relations and recency on commits of real projects."""

from evals.history.run import prepare

__all__ = ["prepare"]
