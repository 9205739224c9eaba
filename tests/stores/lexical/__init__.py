"""Tests of the lexical index."""
