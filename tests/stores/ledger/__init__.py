"""Tests of the ledger, each on SQLite and on PostgreSQL."""
