"""Tokens that travel by mail or link and work once: invitations and password resets."""

import hashlib
import secrets


def new_token() -> tuple[str, str]:
    """Make a token of 256 random bits; return it and the hash that is stored."""
    token = secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """Digest a token. It is random enough that no salt or slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()
