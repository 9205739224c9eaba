"""A run records that secret settings were set, not their values."""

import json

import pytest

from evals.runs import settings_snapshot
from tools.runtime.settings import Settings

SECRET = "s3cret-of-a-server-that-nobody-may-read"
OIDC = {
    "providers": [
        {"name": "own", "issuer": "https://id.example", "client_id": "c", "client_secret_env": "ENGRAIN_OWN",
         "organization_slug": "o"}
    ]
}  # fmt: skip


def test_every_setting_that_is_not_shown_elsewhere_is_not_told() -> None:
    names = [name.upper() for name, field in Settings.model_fields.items() if not field.repr]
    hidden = {f"ENGRAIN_{name}": SECRET for name in (*names, "TOKEN")}
    assert "ENGRAIN_JWT_SECRET" in hidden
    assert set(settings_snapshot(hidden).values()) == {"(set)"}
    shown = dict.fromkeys(hidden, "") | {"ENGRAIN_PORT": "1"}
    assert settings_snapshot(shown) == shown


def test_passwords_in_addresses_and_secrets_of_providers_are_not_told() -> None:
    given = {
        "ENGRAIN_DATABASE_URL": f"postgresql+psycopg://me:{SECRET}@db:5432/e", "ENGRAIN_OIDC": json.dumps(OIDC),
        "ENGRAIN_OWN": SECRET,
    }  # fmt: skip
    shown = settings_snapshot(given)
    assert shown["ENGRAIN_DATABASE_URL"] == "postgresql+psycopg://(set)@db:5432/e"
    assert (shown["ENGRAIN_OIDC"], shown["ENGRAIN_OWN"]) == (given["ENGRAIN_OIDC"], "(set)")
    assert SECRET not in str(settings_snapshot({**given, "ENGRAIN_OIDC": "{"}))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"postgresql+psycopg://h/x?user=bob&password={SECRET}", "postgresql+psycopg://h/x?user=(set)&password=(set)"),
        (f"postgresql+psycopg://bob:a/{SECRET}@h/x", "postgresql+psycopg://(set)@h/x"),
        (f"postgresql+psycopg://bob:a#{SECRET} ?@h/x", "postgresql+psycopg://(set)@h/x"),
        (f"http://127.0.0.1:9/v1?api_key={SECRET}#x", "http://127.0.0.1:9/v1?api_key=(set)#x"),
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("postgresql://bob@h:5432/x", "postgresql://bob@h:5432/x"),
    ],
)
def test_wherever_a_library_reads_a_secret_from_an_address_it_is_not_told(address: str, shown: str) -> None:
    assert settings_snapshot({"ENGRAIN_EMBEDDING_BASE_URL": address}) == {"ENGRAIN_EMBEDDING_BASE_URL": shown}
