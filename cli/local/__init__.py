"""Facts about this machine for commands."""
