"""Measures retrieval on labelled data."""
