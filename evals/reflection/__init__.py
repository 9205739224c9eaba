"""`engrain eval reflection`: notes labelled by hand in, precision and recall of what reflection finds in them out."""

from evals.reflection.labels import Label, Note, Pair, read_notes, read_pairs
from evals.reflection.run import Options, run_reflection_eval
from evals.reflection.scoring import Score, score_notes, score_pairs

__all__ = [
    "Label",
    "Note",
    "Options",
    "Pair",
    "Score",
    "read_notes",
    "read_pairs",
    "run_reflection_eval",
    "score_notes",
    "score_pairs",
]
