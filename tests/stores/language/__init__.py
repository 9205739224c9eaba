"""Tests of what texts tell by their words."""
