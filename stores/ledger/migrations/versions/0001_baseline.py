"""Baseline: tables of version 0.1.0. New ledgers are created from `schema.py`, see `migrating.py`."""

revision = "0001_baseline"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None: ...
