"""Which model is asked, with which key, and what stops it."""

from pathlib import Path
from typing import Any

import pytest

from cli.release_notes.configuration import (
    DEFAULT_MODELS,
    Chosen,
    Configuration,
    PresetName,
    choose_model,
    project_configuration,
    read_configuration,
)
from cli.release_notes.facts import ReleaseNotesFailed
from tools.runtime.client_settings import read_model_settings

KEY = "sk-0123456789abcdefghij"
CLAUDE_KEY = "sk-ant-0123456789abcdef"
NONE = Configuration()


def chosen(
    flags: dict[str, Any] | None = None, project: Configuration = NONE, personal: Configuration = NONE, **environ: str
) -> Chosen | None:
    return choose_model(Configuration(**(flags or {})), read_model_settings(environ), project, personal)


def asked(*arguments: Any, **given: Any) -> Chosen:
    found = chosen(*arguments, **given)
    assert found is not None
    return found


def test_a_key_or_a_provider_alone_asks_the_providers_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (asked(ANTHROPIC_API_KEY=CLAUDE_KEY), asked({"provider": "anthropic"}, ANTHROPIC_API_KEY=CLAUDE_KEY)):
        assert (given.spec.provider, given.spec.model) == ("anthropic", DEFAULT_MODELS["anthropic"])
    assert chosen(OPENAI_API_KEY="sk-short") is None
    monkeypatch.setattr("cli.release_notes.configuration.find_spec", lambda _: None)
    assert chosen(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=CLAUDE_KEY) is None, "the extra is not installed"


def test_no_model_is_asked_without_a_key_or_if_offline_is_said() -> None:
    assert chosen() is None
    assert chosen({"provider": "offline", "model": "m"}, OPENAI_API_KEY=KEY) is None
    assert chosen(ENGRAIN_LLM_PROVIDER="none") is None
    assert chosen({"provider": "offline"}, ENGRAIN_LLM_PROVIDER="acme", ENGRAIN_LLM_TIMEOUT_S="soon") is None


def test_a_flag_goes_before_the_environment_and_that_before_the_files_and_the_defaults() -> None:
    project = Configuration(provider="google", model="g")
    personal = Configuration(provider="ollama", model="o", timeout_s=7, context_tokens=9_000)
    files = {"project": project, "personal": personal}
    found = asked(personal=personal)
    assert (found.spec.name, found.spec.timeout_s, found.context_tokens) == ("ollama:o", 7, 9_000)
    assert asked({"provider": "ollama", "model": "m"}, personal=personal).spec.timeout_s == 7
    assert asked(personal=personal, ENGRAIN_LLM_TIMEOUT_S="5").spec.timeout_s == 5
    found = asked(**files, GOOGLE_API_KEY="x" * 20)
    assert (found.spec.provider, found.spec.model) == ("google", "g")
    environ = {"ENGRAIN_LLM_PROVIDER": "openai", "ENGRAIN_LLM_MODEL": "e", "OPENAI_API_KEY": KEY}
    found = asked(**files, **environ)
    assert (found.spec.provider, found.spec.model, found.spec.api_key) == ("openai", "e", KEY)
    assert KEY not in repr(found) + repr(read_model_settings(environ))
    found = asked({"provider": "Claude", "model": "f"}, **files, **environ, ANTHROPIC_API_KEY=CLAUDE_KEY)
    assert (found.spec.provider, found.spec.model, found.spec.api_key) == ("anthropic", "f", CLAUDE_KEY)
    assert asked({"model": "c"}, ANTHROPIC_API_KEY=CLAUDE_KEY).spec.provider == "anthropic", "whose key there is"
    found = asked({"provider": "ollama", "model": "m"})
    assert (found.spec.timeout_s, found.context_tokens, found.spec.base_url) == (120, 4_096, None)


def test_a_key_and_an_address_stay_with_the_provider_that_they_are_of() -> None:
    environ = {"ENGRAIN_LLM_PROVIDER": "openai", "ENGRAIN_LLM_MODEL": "m", "ENGRAIN_LLM_API_KEY": KEY}
    environ["ENGRAIN_LLM_BASE_URL"] = "https://models.example"
    found = asked({"provider": "ollama", "model": "o"}, **environ)
    assert (found.spec.base_url, found.spec.api_key) == (None, None)
    with pytest.raises(ReleaseNotesFailed, match="ANTHROPIC_API_KEY"):
        chosen({"provider": "anthropic", "model": "c"}, **environ)
    own = {**environ, "OPENAI_API_KEY": KEY}
    del own["ENGRAIN_LLM_API_KEY"]
    found = asked(**own)
    assert found.spec.api_key is None, "a maker's key goes to no other server"


OPENAI, OLLAMA = {"provider": "openai", "model": "m"}, {"provider": "ollama", "model": "m"}
REFUSED: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "no key": (OPENAI, {}, "set OPENAI_API_KEY"),
    "no key for a model alone": ({"model": "m"}, {}, "OPENAI_API_KEY"),
    "wrong prefix": ({"provider": "claude", "model": "m"}, {"ANTHROPIC_API_KEY": KEY}, "starting with sk-ant-"),
    "broken key": (OPENAI, {"OPENAI_API_KEY": f"{KEY}\nx"}, "and no spaces"),
    "no model": ({"provider": "ollama"}, {}, "--model"),
    "unknown provider": ({}, {"ENGRAIN_LLM_PROVIDER": "acme"}, "unknown provider acme. Name one of openai, anthropic"),
    "no time": (OLLAMA, {"ENGRAIN_LLM_TIMEOUT_S": "soon"}, "ENGRAIN_LLM_TIMEOUT_S"),
    "no address": (OLLAMA, {"ENGRAIN_LLM_BASE_URL": "me:pw@host"}, "address"),
}


@pytest.mark.parametrize(("flags", "environ", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_said_in_a_sentence_without_the_key(
    flags: dict[str, str], environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ReleaseNotesFailed, match=sentence) as refused:
        chosen(flags, **environ)
    assert KEY not in str(refused.value)


DAMAGED = {
    "a key": (f'api_key = "{KEY}"', "keys are read from the environment alone"),
    "unknown": ('prest = "x"', "prest: not known here"),
    "zero": ("timeout_s = 0", "timeout_s: Input should be greater than 0"),
    "no TOML": ("preset =", "cannot be read as TOML"),
}


def written(path: Path, text: str) -> Path:
    path.write_text(f"[release_notes]\n{text}", encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "sentence"), DAMAGED.values(), ids=DAMAGED)
def test_a_file_says_what_the_flags_say_and_a_damaged_one_is_named(text: str, sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", 'preset = "Concise"\ncritic = false\ntimeout_s = 5\ncontext_tokens = 8000')
    wanted = Configuration(preset=PresetName.CONCISE, critic=False, timeout_s=5, context_tokens=8000)
    assert read_configuration(path) == wanted
    assert read_configuration(tmp_path / "none.toml") == NONE
    written(path, text)
    with pytest.raises(ReleaseNotesFailed, match=sentence) as refused:
        read_configuration(path)
    assert str(path) in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("folder", "text", "sentence"),
    [("", 'base_url = "https://evil.example"', "your key would go there"),
     *((folder, f'file = "{file}"', "outside of the repository") for folder, file in (
         ("docs", "../../.bashrc"), ("", "/etc/motd"), ("", "sub/x.md"), ("", "inner/up/x.md"), ("docs", "up/x.md"),
         ("", "round/x.md"), ("", "a\\u0000b")))],
)  # fmt: skip
def test_a_repository_may_not_say_where_keys_and_files_go(
    tmp_path: Path, folder: str, text: str, sentence: str
) -> None:
    root = tmp_path / "project"
    for made in (root / ".git", root / "docs", tmp_path / "outside"):
        made.mkdir(parents=True)
    for link, target in (("sub", tmp_path / "outside"), ("inner", "docs"), ("docs/up", tmp_path), ("round", "round")):
        (root / link).symlink_to(target)
    path = written(root / ".engrain.toml", 'provider = "openai"\nfile = "inner/x.md"')
    assert project_configuration(root / "docs") == Configuration(provider="openai", file="inner/x.md")
    written(path, text)
    with pytest.raises(ReleaseNotesFailed, match=sentence):
        project_configuration(root / folder)
