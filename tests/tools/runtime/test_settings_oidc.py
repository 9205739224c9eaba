"""ENGRAIN_OIDC and ENGRAIN_CODEHOST_*: read from the environment, refused in a sentence."""

import json
from typing import Any

import pytest

from stores.errors import InvalidSetting
from tools.runtime.settings import read_settings

ACME = {
    "name": "acme", "issuer": "https://id.acme.example", "client_id": "engrain",
    "client_secret_env": "ENGRAIN_ACME_SECRET", "organization_slug": "acme",
}  # fmt: skip
CODEHOST = {
    "ENGRAIN_CODEHOST_CLIENT_ID": "id", "ENGRAIN_CODEHOST_CLIENT_SECRET": "hunter2",
    "ENGRAIN_CODEHOST_AUTHORIZE_URL": "https://code.example/authorize",
    "ENGRAIN_CODEHOST_TOKEN_URL": "https://code.example/token", "ENGRAIN_CODEHOST_API_URL": "https://api.code.example",
}  # fmt: skip


def environ(*providers: dict[str, Any], **more: Any) -> dict[str, str]:
    return {"ENGRAIN_OIDC": json.dumps({"providers": providers, **more}), "ENGRAIN_ACME_SECRET": "hunter2"}


def test_a_provider_has_what_it_says_and_the_rest_from_all() -> None:
    other = {**ACME, "name": "other-one", "role_claim_override": "groups", "silent_refresh_enabled": False}
    settings, warnings = read_settings(environ(ACME, other, silent_refresh_enabled=True, session_minutes=5))
    assert warnings == []
    assert settings.oidc is not None
    acme, second = settings.oidc.resolved()
    assert (acme.label, acme.scopes, acme.role_claim) == ("Acme", ("openid", "profile", "email"), "roles")
    assert (acme.client_secret, acme.session_minutes, acme.silent_refresh) == ("hunter2", 5, True)
    assert (second.label, second.role_claim, second.silent_refresh) == ("Other one", "groups", False)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in repr(acme)


def test_a_secret_that_is_missing_is_told_when_it_is_needed() -> None:
    settings, _ = read_settings({"ENGRAIN_OIDC": environ(ACME)["ENGRAIN_OIDC"]})
    assert settings.oidc is not None
    assert settings.oidc.resolved()[0].client_secret is None


@pytest.mark.parametrize(
    ("providers", "more", "sentence"),
    [
        ([{**ACME, "name": "A b"}], {}, r"providers\.0\.name"),
        ([{**ACME, "name": "a/b"}], {}, r"providers\.0\.name"),
        ([{**ACME, "issuer": "http://id.acme.example"}], {}, "the issuer of acme must be an https URL"),
        ([{**ACME, "issuer": "https://id.acme.example?a"}], {}, "the issuer of acme"),
        ([{**ACME, "scopes": ["email"]}], {}, "the scopes of acme must hold openid"),
        ([{**ACME, "client_secret": "hunter2"}], {}, r"providers\.0\.client_secret: Extra inputs"),
        ([{name: value for name, value in ACME.items() if name != "client_id"}], {}, "client_id: Field required"),
        ([ACME, ACME], {}, "two providers have the name acme"),
        ([{**ACME, "name": "google"}], {}, "google needs extra_providers_enabled"),
        ([ACME], {"session_minutes": 4}, "session_minutes"),
        ([ACME], {"session_minutes": 1441}, "session_minutes"),
        ([ACME], {"redirect_uri_base": "engrain.example"}, "must be an http or https URL"),
        ([ACME], {"rolle_claim": "x"}, "rolle_claim: Extra inputs"),
    ],
)
def test_bad_settings_are_refused(providers: list[dict[str, Any]], more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidSetting, match=sentence) as refused:
        read_settings(environ(*providers, **more))
    assert "hunter2" not in refused.value.message
    assert refused.value.message.startswith("ENGRAIN_OIDC is not valid: ")


@pytest.mark.parametrize("text", ["{", "[]", "7", '"x"', "[" * 99_999], ids=["cut", "list", "number", "text", "deep"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match="ENGRAIN_OIDC is not valid"):
        read_settings({"ENGRAIN_OIDC": text})


def test_google_can_be_meant() -> None:
    settings, _ = read_settings(environ({**ACME, "name": "google"}, extra_providers_enabled=True))
    assert settings.oidc is not None


@pytest.mark.parametrize("missing", CODEHOST)
def test_a_code_host_needs_all_of_its_settings(missing: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{missing} is needed"):
        read_settings({name: value for name, value in CODEHOST.items() if name != missing})


@pytest.mark.parametrize("name", [name for name in CODEHOST if name.endswith("URL")])
def test_a_code_host_is_talked_to_in_secret(name: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{name} must be an https URL"):
        read_settings({**CODEHOST, name: "http://code.example/"})
    assert "hunter2" not in repr(read_settings(CODEHOST)[0])


@pytest.mark.parametrize("address", ["app.example.com", "ftp://app.example.com", "https://app.example.com/?a", "//a"])
def test_a_frontend_has_an_address(address: str) -> None:
    with pytest.raises(InvalidSetting, match=r"ENGRAIN_FRONTEND_URL=.* is not valid"):
        read_settings({"ENGRAIN_FRONTEND_URL": address})
