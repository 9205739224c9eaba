"""`engrain eval history`: commits of real projects as records, and what relations and recency find among them."""

from evals.history.run import prepare

__all__ = ["prepare"]
