"""Token vectors of passages, stored on disk and read for the few records that a search compares closely."""

from stores.tokens.store import FILE, PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable

__all__ = ["FILE", "PassageTokens", "TokenRecord", "TokenStore", "Tokens", "TokensUnusable"]
