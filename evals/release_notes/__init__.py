"""`engrain eval release-notes`: logs of real projects, replayed; what is found in them against labels made by hand."""

from evals.release_notes.run import prepare

__all__ = ["prepare"]
