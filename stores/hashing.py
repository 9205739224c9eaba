"""Stable 64-bit hashes of texts."""

import hashlib


def hash64(text: str) -> int:
    """Signed, and the same in every process. Any string has one."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
