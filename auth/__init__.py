"""Who is asking and what they may do: passwords, tokens, principals, roles, visibility."""
