"""`engrain eval reflection`: findings in labelled notes, and judgements of sentence pairs."""
