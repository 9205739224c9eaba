"""Signing in by providers, over real HTTP between a server, a provider's process and a browser."""
