"""Tests of `tools.retrieval.days`."""
