"""Tests, mirroring the folders that they test."""
