"""The retrieval suite, over REST and MCP."""
