"""Tests of the HTTP surface."""
