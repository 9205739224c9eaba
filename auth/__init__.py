"""Authentication and authorization: passwords, tokens, principals, roles, visibility keys."""
