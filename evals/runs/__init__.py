"""Runs of evaluations: what each was, its answers as they come, and where all of them are kept."""

from evals.runs.archive import Archive, Stored
from evals.runs.journal import Journal
from evals.runs.record import RunRecord, default_runs, new_record

__all__ = ["Archive", "Journal", "RunRecord", "Stored", "default_runs", "new_record"]
