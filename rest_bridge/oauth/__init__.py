"""Authorization server for MCP clients: OAuth 2.1 with PKCE, dynamic registration, rotating refresh tokens."""
