"""The retrieval suite: asks a server, over REST and MCP, the questions of labelled collections."""

from evals.harness.run import prepare

__all__ = ["prepare"]
