"""The retrieval suite, over REST and MCP."""

from evals.harness.run import prepare

__all__ = ["prepare"]
