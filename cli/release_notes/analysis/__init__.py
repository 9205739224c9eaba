"""Facts of a release: the changes between two commits."""
