"""`engrain eval release-notes`: release notes of replayed logs against labels made by hand."""

from evals.release_notes.run import prepare

__all__ = ["prepare"]
