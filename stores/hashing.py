"""Numbers that stand for texts in indexes, where a text would take more room and time."""

import hashlib


def number_of(text: str) -> int:
    """A number of 64 bits, signed, that is the same for the same text in every process; any string has one."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
