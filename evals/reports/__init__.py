"""What a run has to say: in a terminal, in Markdown, and as one HTML page."""
