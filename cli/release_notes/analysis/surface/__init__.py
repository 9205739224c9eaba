"""Compare interfaces, settings, dependencies and files between two commits."""
