"""Tests of storage, on real engines."""
