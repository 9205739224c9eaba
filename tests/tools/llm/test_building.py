"""Which model is set up, and what stops a start that could not work."""

import pytest

from stores.errors import InvalidSetting
from tools.llm import model
from tools.llm.model import ModelSpec, build_language_model
from tools.runtime.settings import read_settings

KEY = "sk-secret-0123456789"
REFUSED = {
    "no model": ({"PROVIDER": "ollama"}, "ENGRAIN_LLM_MODEL is needed"),
    "unknown provider": ({"PROVIDER": "acme", "MODEL": "m"}, "ENGRAIN_LLM_PROVIDER=acme is not valid"),
    "no address": ({"PROVIDER": "openai", "MODEL": "m", "BASE_URL": "localhost:11434"}, "ENGRAIN_LLM_BASE_URL"),
    "a credential in the address": (
        {"PROVIDER": "openai", "MODEL": "m", "BASE_URL": "http://me:pw@host/v1"},
        "ENGRAIN_LLM_BASE_URL",
    ),
    "no key at all": ({"PROVIDER": "openai", "MODEL": "m", "API_KEY": f"{KEY}\nx"}, "ENGRAIN_LLM_API_KEY is not valid"),
    "no time": ({"PROVIDER": "ollama", "MODEL": "m", "TIMEOUT_S": "0"}, "ENGRAIN_LLM_TIMEOUT_S"),
}


@pytest.mark.parametrize(("given", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_setting_that_cannot_work_stops_the_start(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidSetting, match=sentence) as refused:
        read_settings({f"ENGRAIN_LLM_{name}": value for name, value in given.items()})
    assert KEY not in refused.value.message


def test_a_key_is_in_no_representation() -> None:
    settings, _ = read_settings(
        {"ENGRAIN_LLM_PROVIDER": "openai", "ENGRAIN_LLM_MODEL": "m", "ENGRAIN_LLM_API_KEY": KEY}
    )
    assert settings.llm_api_key == KEY
    assert KEY not in repr(settings)
    assert KEY not in repr(ModelSpec("openai", "m", None, KEY))


def test_without_a_setting_there_is_no_model() -> None:
    assert build_language_model(None) is None


def test_without_the_extra_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "LIBRARY", "a_library_that_is_not_there")
    with pytest.raises(InvalidSetting) as refused:
        build_language_model(ModelSpec("ollama", "m"))
    assert "engrain[llm]" in refused.value.remediation
