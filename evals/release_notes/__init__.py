"""`engrain eval release-notes`: notes of replayed logs against manual labels."""

from evals.release_notes.run import prepare

__all__ = ["prepare"]
