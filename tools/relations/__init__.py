"""Verbs of relations, graph exploration and temporal queries."""
