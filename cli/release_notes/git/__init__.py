"""Git access through libgit2; only temporary clones are written."""
