"""Vectors of single tokens, for late interaction: kept on disk, read for the best candidates of a search alone."""

from stores.tokens.store import FILE, PassageTokens, Sentences, TokenRecord, Tokens, TokenStore, TokensUnusable

__all__ = ["FILE", "PassageTokens", "Sentences", "TokenRecord", "TokenStore", "Tokens", "TokensUnusable"]
