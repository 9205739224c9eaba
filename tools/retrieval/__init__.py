"""Retrieval: plan, candidates, fuse, expand, hydrate, rank. Pure functions with the I/O at the rim."""
