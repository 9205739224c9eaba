"""Settings, wiring and lifecycle of a server."""
