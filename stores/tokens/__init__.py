"""Token vectors of passages, on disk."""

from stores.tokens.store import FILE, PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable

__all__ = ["FILE", "PassageTokens", "TokenRecord", "TokenStore", "Tokens", "TokensUnusable"]
