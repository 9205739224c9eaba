"""Rules that find decisions, tasks and the like in session notes."""
