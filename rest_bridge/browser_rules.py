"""Security headers of every answer."""

from collections.abc import Iterable

RawHeader = tuple[bytes, bytes]

NO_SNIFFING: RawHeader = (b"x-content-type-options", b"nosniff")
POLICY: RawHeader = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""For answers that have no policy of their own: they are data, and show and run nothing."""
NO_REFERRER: RawHeader = (b"referrer-policy", b"no-referrer")
HTTPS_ONLY: RawHeader = (b"strict-transport-security", b"max-age=31536000")
"""A year. Hosts beside this one are not spoken for."""


def standing_rules(*, is_https: bool) -> list[RawHeader]:
    """Return the headers of every answer, HSTS included if the public address is HTTPS."""
    return [NO_SNIFFING, HTTPS_ONLY] if is_https else [NO_SNIFFING]


def missing_rules(given: Iterable[RawHeader]) -> list[RawHeader]:
    """Return the default rules that an answer does not set itself."""
    names = {name.lower() for name, _ in given}
    return [rule for rule in (POLICY, NO_REFERRER) if rule[0] not in names]
