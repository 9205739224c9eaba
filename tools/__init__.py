"""Operations: the catalogue, retrieval, the MCP server, settings and wiring."""
