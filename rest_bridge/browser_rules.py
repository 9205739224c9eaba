"""Security headers of every answer."""

from collections.abc import Iterable

RawHeader = tuple[bytes, bytes]

NO_SNIFFING: RawHeader = (b"x-content-type-options", b"nosniff")
POLICY: RawHeader = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
NO_REFERRER: RawHeader = (b"referrer-policy", b"no-referrer")
HTTPS_ONLY: RawHeader = (b"strict-transport-security", b"max-age=31536000")


def standing_rules(*, is_https: bool) -> list[RawHeader]:
    """Return the headers of every answer, with HSTS for HTTPS."""
    return [NO_SNIFFING, HTTPS_ONLY] if is_https else [NO_SNIFFING]


def missing_rules(given: Iterable[RawHeader]) -> list[RawHeader]:
    """Return the default rules that an answer does not set itself."""
    names = {name.lower() for name, _ in given}
    return [rule for rule in (POLICY, NO_REFERRER) if rule[0] not in names]
