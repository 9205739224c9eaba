"""Token vectors of passages, on disk."""

from stores.tokens.store import FILE, PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable
