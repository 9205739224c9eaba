"""Signing in by the word of somebody else: a code host, or an organization's own OpenID Connect provider."""
