"""`engrain eval release-notes`: logs of real projects, replayed; what is found in them against labels made by hand."""

from evals.release_notes.run import Options, run_release_notes_eval

__all__ = ["Options", "run_release_notes_eval"]
