"""The memory verbs of the shell: each calls a tool of the server, or a route where no tool fits."""
