"""Adapters, one format each."""
