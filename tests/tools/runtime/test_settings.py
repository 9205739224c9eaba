from pathlib import Path
from typing import Any

import pytest

from stores.errors import InvalidSetting
from tools.runtime.settings import Settings, read_settings

SECRET = "x" * 32


def test_an_empty_environment_serves_on_loopback() -> None:
    settings, warnings = read_settings({})
    assert (settings.host, settings.on_loopback, warnings) == ("127.0.0.1", True, [])


def test_names_map_to_the_environment_and_options_win(tmp_path: Path) -> None:
    environ = {"ENGRAIN_DATA_DIR": str(tmp_path), "ENGRAIN_RATE_LIMIT_ENABLED": "false", "ENGRAIN_PORT": "1"}
    settings, _ = read_settings(environ, port=2)
    assert (settings.data_dir, settings.rate_limit_enabled, settings.port) == (tmp_path, False, 2)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_settings({"ENGRAIN_DATA_DIR": "~/x"})[0].data_dir == tmp_path / "x"
    assert read_settings({}, data_dir=Path("~/x"))[0].ledger_url == f"sqlite:///{tmp_path}/x/ledger.sqlite"


@pytest.mark.parametrize("host", ["::", "192.168.1.5", "2001:db8::1", "engrain.example", "localhost.example"])
def test_mcp_without_authentication_listens_on_loopback_only(host: str) -> None:
    open_mcp = {"ENGRAIN_JWT_SECRET": SECRET, "ENGRAIN_MCP_AUTH_MODE": "off"}
    with pytest.raises(InvalidSetting, match="loopback only"):
        read_settings({**open_mcp, "ENGRAIN_HOST": host})
    for own in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert read_settings({**open_mcp, "ENGRAIN_HOST": own})[0].mcp_auth_mode == "off"


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"ENGRAIN_HOST": "0.0.0.0"}, "ENGRAIN_JWT_SECRET is needed to listen on 0.0.0.0"),  # noqa: S104 - the point
        ({"ENGRAIN_BASE_URL": "https://a.example", "ENGRAIN_MCP_AUTH_MODE": "off"}, "this machine only"),
        ({"ENGRAIN_ALLOWED_HOSTS": "*", "ENGRAIN_MCP_AUTH_MODE": "off"}, "this machine only"),
        ({"ENGRAIN_TRUSTED_PROXIES": "127.0.0.1", "ENGRAIN_MCP_AUTH_MODE": "off"}, "this machine only"),
        ({"ENGRAIN_JWT_SECRET": " " * 40}, "fewer than 32 characters, blanks"),
        ({"ENGRAIN_BASE_URL": "notaurl"}, "ENGRAIN_BASE_URL=notaurl is not valid"),
        ({"ENGRAIN_BASE_URL": "https://a.example?x=1"}, "without a query"),
        ({"ENGRAIN_CORS_ORIGINS": "https://a.example, foo"}, "ENGRAIN_CORS_ORIGINS=foo is not valid"),
        ({"ENGRAIN_CORS_ORIGINS": "https://a.example/"}, "an origin is"),
        ({"ENGRAIN_ALLOWED_HOSTS": "a b"}, "ENGRAIN_ALLOWED_HOSTS=a b is not valid"),
        ({"ENGRAIN_ALLOWED_HOSTS": "https://a.example"}, "a host is"),
        ({"ENGRAIN_SMTP_FROM": "zzz"}, "ENGRAIN_SMTP_FROM=zzz is not valid"),
        ({"ENGRAIN_DATA_DIR": "~nobody-here/x"}, "no home folder"),
        ({"ENGRAIN_PORT": "http"}, "ENGRAIN_PORT=http is not valid"),
        ({"ENGRAIN_EMBEDDING_PROVIDER": "openai"}, "ENGRAIN_EMBEDDING_MODEL is needed"),
        ({"ENGRAIN_RATE_LIMIT_ENABLED": "perhaps"}, "ENGRAIN_RATE_LIMIT_ENABLED=perhaps is not valid"),
    ],
)
def test_an_impossible_setting_is_refused_in_a_sentence(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidSetting, match=sentence):
        read_settings(environ)


@pytest.mark.parametrize(
    ("environ", "options", "said"),
    [
        ({"ENGRAIN_JWT_SECRET": "hunter2"}, {}, "fewer than 32 characters"),
        ({}, {"smtp_password": ["hunter2"]}, "ENGRAIN_SMTP_PASSWORD is not valid"),
        ({"ENGRAIN_LLM_BASE_URL": "http://u:hunter2@x"}, {}, "=http://(set)@x is not valid"),
        ({"ENGRAIN_LLM_BASE_URL": "http://x?key=hunter2&y"}, {}, "=http://x?key=(set)&y is not valid"),
    ],
)
def test_a_refused_secret_is_not_repeated(environ: dict[str, str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read_settings(environ, **options)
    assert said in refused.value.message
    assert "hunter2" not in str(refused.value)


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_secrets_stay_out_of_the_settings_text() -> None:
    settings, _ = read_settings({"ENGRAIN_JWT_SECRET": SECRET, "ENGRAIN_EMBEDDING_API_KEY": "sk-hidden"})
    assert SECRET not in repr(settings)
    assert "sk-hidden" not in repr(settings)


def test_addresses_that_work_are_taken_as_they_are() -> None:
    environ = {
        "ENGRAIN_BASE_URL": "https://engrain.example/api-of-ours/",
        "ENGRAIN_CORS_ORIGINS": "https://app.example:8443, http://localhost:3000, app://notes",
        "ENGRAIN_ALLOWED_HOSTS": "engrain.example, engrain.example:8420, engrain:*, [::1]:8420, 10.0.0.1",
        "ENGRAIN_SMTP_FROM": "Engrain <no-reply@example.org>",
    }
    settings, _ = read_settings(environ)
    assert len(settings.cors_origins) == 3
    assert len(settings.allowed_hosts) == 5
    assert settings.smtp_from == "Engrain <no-reply@example.org>"
    assert read_settings({"ENGRAIN_CORS_ORIGINS": "*", "ENGRAIN_ALLOWED_HOSTS": "*"})[0].allowed_hosts == ("*",)
