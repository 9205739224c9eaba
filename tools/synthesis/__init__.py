"""Synthesis: documents compiled from readable records, each statement with its sources."""
