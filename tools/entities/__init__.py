"""Verbs of entities."""
