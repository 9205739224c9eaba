"""Attacks on a real server, over REST, MCP and the WebSocket alike."""
