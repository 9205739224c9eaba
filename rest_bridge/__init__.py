"""The HTTP surface generated from the catalogue: routes, error envelope, OpenAPI, WebSocket, MCP transport."""
