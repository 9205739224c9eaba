"""Sanitizing of text for generated documents, and verification of such text."""
