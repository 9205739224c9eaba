"""`engrain eval synthesis`: documents against the records that they must cite."""

from evals.synthesis.run import prepare

__all__ = ["prepare"]
