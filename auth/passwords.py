"""Argon2id password hashes, with constant work for unknown users."""

import base64
import secrets
import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from argon2.low_level import ARGON2_VERSION

WORKERS = 2


class Passwords:
    """At most `WORKERS` hash at once: each takes tens of megabytes."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._workers = threading.BoundedSemaphore(WORKERS)
        self._decoy = _decoy_of(self._hasher)

    def hash(self, password: str) -> str:
        with self._workers:
            return self._hasher.hash(password)

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Compare; a missing hash takes as long as a wrong password."""
        with self._workers:
            try:
                self._hasher.verify(password_hash or self._decoy, password)
            except (VerifyMismatchError, VerificationError, InvalidHashError):
                return False
        return password_hash is not None


def _decoy_of(hasher: PasswordHasher) -> str:
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (hasher.salt_len, hasher.hash_len)
    )
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"
