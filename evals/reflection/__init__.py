"""`engrain eval reflection`: notes labelled by hand in, precision and recall of what reflection finds in them out."""

from evals.reflection.labels import Label, Note, Pair, read_notes, read_pairs
from evals.reflection.run import prepare
from evals.reflection.scoring import Score, score_notes, score_pairs

__all__ = [
    "Label",
    "Note",
    "Pair",
    "Score",
    "prepare",
    "read_notes",
    "read_pairs",
    "score_notes",
    "score_pairs",
]
