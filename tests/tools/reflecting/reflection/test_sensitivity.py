"""What is flagged as sensitive, and what only sounds like it. Keys are put together here, so that no scanner cries."""

import pytest

from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import sensitivity_flags

FLAGGED = {
    "password": ("the login is pentest / password: Sommer2024!", ("credential",)),
    "password in words": ("the password is hunter2", ("credential",)),
    "address with a password": ("postgres://app:hunter22@db.internal/prod", ("credential",)),
    "setting": ("DB_PASSWORD=hunter2 in the file", ("credential",)),
    "secret key in a setting": ("AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI", ("key", "secret")),
    "cloud key": ("AKIA" + "ABCDEFGHIJKLMNOP", ("key",)),
    "named key": ("API key: 7f3d9a1b2c", ("key",)),
    "person's address": ("mail ada@example.com about it", ("pii",)),
    "telephone": ("call +49 170 1234567", ("pii",)),
    "card": ("card 4111 1111 1111 1111", ("pii",)),
    "bank account": ("DE89 3704 0044 0532 0130 00", ("pii",)),
    "private key": ("-----BEGIN " + "RSA PRIVATE KEY-----", ("private_key",)),
    "client secret": ("client_secret=9f8e7d6c5b", ("secret",)),
    "forge token": ("ghp_" + "a1" * 18, ("token",)),
    "signed token": ("eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0.abc", ("token",)),
    "bearer": ("Authorization: Bearer " + "abcdefghijklmnop1234", ("token",)),
    "two": ("token: abc123def456 of ada@example.com", ("pii", "token")),
}
HARMLESS = [
    "the password is stored hashed", "the password is really weak", "password: required", "the secret is to wait",
    "password reset is broken", "the token expires after 8 hours", "the api key is missing",
    "the primary key is a UUID", "git@github.com:foo/bar is the remote", "@tariq to look at it",
    "2025-05-04T02:11:09 and 10.0.0.12", "order 4111111111111112", "1,204 rows of v1.2.3-4567",
]  # fmt: skip


@pytest.mark.parametrize(("text", "flags"), FLAGGED.values(), ids=FLAGGED)
def test_secrets_and_people_are_flagged(text: str, flags: tuple[str, ...]) -> None:
    assert sensitivity_flags(text) == flags


@pytest.mark.parametrize("text", HARMLESS)
def test_talking_about_secrets_is_no_secret(text: str) -> None:
    assert sensitivity_flags(text) == ()


def test_a_finding_carries_the_flags_of_its_content_alone() -> None:
    found = extract("We decided to rotate it, password: Sommer2024!\n\n- [ ] write the docs")
    assert [finding.sensitivity_flags for finding in found] == [("credential",), ()]
