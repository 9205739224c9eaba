"""64-bit hashes of strings, for indexes."""

import hashlib


def hash64(text: str) -> int:
    """Return a signed 64-bit hash, the same in every process; lone surrogates are allowed."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
