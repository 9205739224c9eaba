"""The client's settings are few, and neither side takes the other's for a mistake."""

from dataclasses import fields

import pytest

from tools.runtime.client_settings import DESCRIPTIONS, ClientSettings, read_client_settings
from tools.runtime.settings import Settings, read_settings


def test_they_are_read_and_an_empty_value_counts_as_unset() -> None:
    settings, warnings = read_client_settings({"ENGRAIN_URL": " http://engrain.example ", "ENGRAIN_TOKEN": ""})
    assert settings == ClientSettings(url="http://engrain.example")
    assert warnings == []


def test_every_one_is_described_and_the_token_stays_out_of_the_text() -> None:
    assert [each.name for each in fields(ClientSettings)] == list(DESCRIPTIONS)
    assert "sk_live" not in repr(ClientSettings(token="sk_live_x"))


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_no_setting_of_the_server_is_taken_for_a_slip(name: str) -> None:
    assert read_client_settings({f"ENGRAIN_{name.upper()}": "x"})[1] == []


@pytest.mark.parametrize(
    ("typed", "meant"), [("URLS", "URL"), ("TOKN", "TOKEN"), ("TOKENS", "TOKEN")], ids=["urls", "tokn", "tokens"]
)
def test_a_slip_is_a_warning_on_both_sides(typed: str, meant: str) -> None:
    expected = [f"ENGRAIN_{typed} is not a setting of Engrain; did you mean ENGRAIN_{meant}?"]
    assert read_client_settings({f"ENGRAIN_{typed}": "x"})[1] == expected
    assert read_settings({f"ENGRAIN_{typed}": "x"})[1] == expected


def test_a_server_does_not_warn_of_what_the_client_reads() -> None:
    assert read_settings({"ENGRAIN_URL": "http://127.0.0.1:8420", "ENGRAIN_TOKEN": "t"})[1] == []
