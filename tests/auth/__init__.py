"""Tests of `auth`."""
