"""Tests of `cli.release_notes`."""
