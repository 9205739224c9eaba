"""`engrain eval history`: the gain of relations and recency among commits of real projects."""

from evals.history.run import prepare

__all__ = ["prepare"]
