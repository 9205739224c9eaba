"""Random tokens and their hashes."""

import hashlib
import hmac
import secrets


def new_token() -> tuple[str, str]:
    """Make a token of 256 random bits; return it with its hash."""
    token = secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """Plain SHA-256: 256 random bits need no salt or slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def keyed_hash(secret: str, purpose: bytes, text: str) -> str:
    """Hash with a key derived from the server's secret for one purpose."""
    key = hmac.digest(secret.encode(), purpose, hashlib.sha256)
    return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()
