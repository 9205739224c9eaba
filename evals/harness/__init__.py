"""Asks a real server, through its public surface, the questions of labelled collections."""

from evals.harness.run import prepare

__all__ = ["prepare"]
