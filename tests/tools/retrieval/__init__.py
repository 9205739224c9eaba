"""Tests of `tools.retrieval`."""
