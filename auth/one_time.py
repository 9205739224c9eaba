"""One-time tokens, of which only the hash is stored."""

import hashlib
import secrets


def new_token() -> tuple[str, str]:
    """Make a token of 256 random bits; return it with its hash."""
    token = secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """Hash a token with plain SHA-256: 256 random bits need no salt or slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()
