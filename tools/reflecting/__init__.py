"""Reflection: candidates, duplicates and promotion."""
