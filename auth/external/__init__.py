"""Sign-in by a code host (OAuth 2) or an organization's OpenID Connect provider."""
