"""Every operation of Engrain, authored once: the catalogue, retrieval, the MCP server, settings and wiring."""
