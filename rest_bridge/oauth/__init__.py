"""The authorization server for MCP clients: OAuth 2.1 with PKCE, dynamic registration and rotating refresh tokens."""
