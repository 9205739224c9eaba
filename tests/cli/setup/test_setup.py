"""`engrain setup` writes what each client reads, keeps everything else, and undoes exactly what it did."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.main import app
from cli.setup.command import CLIENTS, path_of

COMMENTED = """\
// by hand
{
\t"theme": "dark", // best
\t/* servers */
\t"KEY": {
\t\t// none is "like" it
\t\t"other": {"command": "x, // y", "args": []}, // it stays
\t},
}
"""
MULTI = """\
# mine
model = "o3" # quick

[mcp_servers.docs]
command = "docs"

[tui]
banner = '''
[mcp_servers.engrain]
'''
"""
SPLIT = '[mcp_servers.a]\ncommand = "a"\n[tui]\nx = 1\n[mcp_servers.b]\ncommand = "b"\n'
BROKEN = {"json": '{"mcpServers": [}', "toml": "[mcp_servers"}
HOOK = '{"hooks": [{"type": "command", "command": "say done"}]}'
WITH_HOOKS = f'{{\n  "hooks": {{\n    "Stop": [\n      {HOOK} // loud\n    ]\n  }}\n}}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "ENGRAIN_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    install(tmp_path / "bin", monkeypatch)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder.mkdir()
    program = folder / "engrain"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return str(program)


def setup(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["setup", *words], input=typed)


def done(*words: str) -> str:
    result = setup(*words, "--yes")
    assert result.exit_code == 0, result.output
    return result.output


def tree(home: Path) -> dict[str, bytes | None]:
    """Everything but the user's state folder."""
    found = (path for path in home.rglob("*") if ".local" not in path.parts)
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


def configuration(client: str) -> Path:
    path = path_of({}, CLIENTS[client].files[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_each_client_reads_its_block_and_removal_leaves_nothing(home: Path) -> None:
    plain: dict[str, Any] = {"command": str(home.parent / "bin/engrain"), "args": ["mcp"]}
    typed, local = {"type": "stdio", **plain}, {"type": "local", **plain, "tools": ["*"]}
    array = {"type": "local", "command": [plain["command"], "mcp"], "enabled": True}
    expected = {
        "claude-code": ("mcpServers", typed), "cursor": ("mcpServers", typed), "gemini": ("mcpServers", plain),
        "qwen": ("mcpServers", plain), "windsurf": ("mcpServers", plain), "cline": ("mcpServers", plain),
        "vscode": ("servers", typed), "codex": ("mcp_servers", plain), "zed": ("context_servers", plain),
        "opencode": ("mcp", array), "copilot": ("mcpServers", local),
        "continue": ("mcpServers", {"name": "engrain", **typed}),
    }  # fmt: skip
    done(*CLIENTS)
    for client in CLIENTS:
        key, block = expected[client]
        text, parse = configuration(client).read_text(), {"toml": tomllib.loads, "text": yaml.safe_load}
        servers = parse.get(CLIENTS[client].form, json.loads)(text)[key]
        assert (servers[0] if client == "continue" else servers["engrain"]) == block
    assert setup().output.count(" set up\n") == len(CLIENTS)
    assert json.loads((home / ".codex/hooks.json").read_text())["hooks"].keys() == {"SessionStart", "Stop"}
    assert (home / ".codex/skills/engrain/SKILL.md").exists()
    done("--remove")
    assert tree(home) == {}


@pytest.mark.parametrize("original", [COMMENTED, '{"servers":{"engrain":{"url":"x"}},"a":1}', "", "{ }", "\ufeff{}\n"])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_comments_line_ends_mode_and_other_servers_of_json_stay(original: str, eol: str, home: Path) -> None:
    path, original = configuration("vscode"), original.replace("\n", eol)
    path.write_bytes(original.encode())
    path.chmod(0o640)
    before = tree(home)
    done("vscode")
    written = path.read_bytes().decode()
    assert path.stat().st_mode & 0o777 == 0o640
    if eol in original:
        assert written.count("\n") == written.count(eol)
    commented = [line for line in original.splitlines() if "//" in line or "/*" in line]
    assert [line for line in written.splitlines() if line in commented] == commented
    assert "already" in done("vscode")
    done("--remove", "vscode")
    assert (path.read_bytes().decode(), tree(home), path.stat().st_mode & 0o777) == (original, before, 0o640)


TOMLS = [MULTI, SPLIT, MULTI.replace("\n", "\r\n"), "mcp_servers = {}\n", "[mcp_servers]", ""]


@pytest.mark.parametrize("original", TOMLS)
def test_toml_keeps_its_form_and_what_people_add_later(original: str, home: Path) -> None:
    path = configuration("codex")
    path.write_bytes(original.encode())
    done("codex")
    written = path.read_bytes().decode()
    assert tomllib.loads(written)["mcp_servers"]["engrain"]["args"] == ["mcp"]
    if "\r\n" in original:
        assert written.count("\n") == written.count("\r\n")
    assert [line for line in written.splitlines() if "#" in line] == [x for x in original.splitlines() if "#" in x]
    done("--remove", "codex")
    assert path.read_bytes().decode() == original
    done("codex")
    path.write_bytes(path.read_bytes() + b"\n[profiles.mine]\nx = 1 # later\n")
    done("--remove", "codex")
    left, before = tomllib.loads(path.read_bytes().decode()), tomllib.loads(original)
    assert left.pop("profiles") == {"mine": {"x": 1}}
    assert (left.pop("mcp_servers", {}), left) == (before.pop("mcp_servers", {}), before)


def test_variables_that_a_client_drops_are_in_its_block(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DATA_DIR", "~/d"), ("URL", "engrain.example.org"), ("TOKEN", "sk_live_secret")):
        monkeypatch.setenv(f"ENGRAIN_{name}", value)
    done("codex", "cursor")
    block = tomllib.loads(configuration("codex").read_text())["mcp_servers"]["engrain"]
    env = {"ENGRAIN_DATA_DIR": f"{home}/d", "ENGRAIN_URL": "https://engrain.example.org"}
    assert (block["env"], block["env_vars"]) == (env, ["ENGRAIN_TOKEN"])
    assert "ENGRAIN" not in configuration("cursor").read_text()
    assert "secret" not in configuration("codex").read_text()


def test_what_a_client_or_person_changed_meanwhile_stays(home: Path) -> None:
    path = configuration("cursor")
    done("cursor")
    config = json.loads(path.read_text())
    config["mcpServers"]["other"] = {"command": "other"}
    path.write_text(json.dumps({"version": 3, **config}, indent=4) + "\n// end\n")
    assert "already" in done("cursor"), "it is still there"
    done("--remove", "cursor")
    assert path.read_text().endswith('"command": "other"\n        }\n    }\n}\n// end\n')
    assert "engrain" not in path.read_text()
    path.write_text('{"mcpServers": {"engrain": {"url": "mine"}}, "a": 1}')
    done("cursor")
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    done("--remove", "cursor")
    assert json.loads(path.read_text()) == {"mcpServers": {"engrain": {"url": "mine"}}, "a": 2}


def test_hooks_join_those_of_the_user_and_leave_them(home: Path) -> None:
    settings, skill = home / ".claude/settings.json", home / ".claude/skills/engrain/SKILL.md"
    settings.parent.mkdir()
    settings.write_text(WITH_HOOKS)
    done("claude-code")
    hooks = json.loads(settings.read_text().replace("// loud", ""))["hooks"]
    assert hooks["Stop"][1] == json.loads(HOOK)
    program = home.parent / "bin/engrain"
    for event, name in (("SessionStart", "session-start"), ("PreCompact", "pre-compact"), ("Stop", "stop")):
        assert hooks[event][0]["hooks"] == [{"type": "command", "command": f"{program} hook {name}", "timeout": 2}]
    assert len(skill.read_text().splitlines()) <= 60
    assert yaml.safe_load(skill.read_text().split("---")[1])["name"] == "engrain"
    slower = settings.read_text().replace('"timeout": 2', '"timeout": 9')
    settings.write_text(slower.replace('"hooks": {\n', '"hooks": { // all\n', 1))
    skill.write_text(skill.read_text() + "Mine.\n")
    assert str(skill) in done("--remove")
    assert settings.read_text() == WITH_HOOKS.replace('"hooks": {\n', '"hooks": { // all\n', 1)
    assert skill.read_text().endswith("Mine.\n")


def test_a_hook_that_was_put_into_our_group_stays_there(home: Path) -> None:
    settings = home / ".claude/settings.json"
    done("claude-code")
    mine = {"type": "command", "command": "beep"}
    written = json.loads(settings.read_text())
    written["hooks"]["Stop"][0]["hooks"].append(mine)
    settings.write_text(json.dumps(written))
    done("--remove")
    assert json.loads(settings.read_text())["hooks"] == {"Stop": [{"hooks": [mine]}]}


def test_an_upgrade_renews_the_block_and_can_still_be_undone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = configuration("zed")
    path.write_text(COMMENTED)
    before = tree(home)
    done("zed")
    path.write_text(path.read_text().replace('"args": [', '"env": {"A": "b"}, "args": [', 1))
    new = install(home.parent / "new", monkeypatch)
    assert "renews" in setup().output
    done("zed")
    assert path.read_text().count("engrain") == 2, "the name and the new program"
    assert new in path.read_text()
    assert '"A": "b"' in path.read_text(), "what somebody put into our block"
    done("--remove")
    assert tree(home) == before


def test_a_symlink_stays_one_and_its_target_is_edited(home: Path) -> None:
    target, link = home / "dotfiles/gemini.json", configuration("gemini")
    target.parent.mkdir()
    target.write_text("{}\n")
    link.symlink_to(target)
    before = tree(home)
    done("gemini")
    assert (link.readlink(), "engrain" in target.read_text()) == (target, True)
    done("--remove")
    assert (link.readlink(), tree(home)) == (target, before)


@pytest.mark.parametrize("text", [None, '{"mcpServers": 3}', "[]", '{"a": 1} x', "\udc80"])
def test_a_file_that_makes_no_sense_is_left_and_named(text: str | None, home: Path) -> None:
    for client in ("gemini", "codex"):
        broken = BROKEN[CLIENTS[client].form] if text is None or client == "codex" else text
        configuration(client).write_bytes(broken.encode(errors="surrogateescape"))
    before = tree(home)
    result = setup("gemini", "codex", "cursor", "--yes")
    assert (result.exit_code, result.output.count("was left as it is")) == (1, 2)
    assert str(configuration("gemini")) in result.output
    assert "Cursor is set up" in result.output
    done("--remove")
    assert tree(home) == before


def test_nothing_changes_unasked(home: Path) -> None:
    configuration("cursor").write_text("{}\n")
    before = tree(home)
    assert "cursor       Cursor       not set up\n" in setup().output
    for typed in ("n\n", ""):
        result = setup("cursor", typed=typed)
        assert (result.exit_code, "+++ " in result.output, tree(home)) == (1, True, before)
    assert setup("cursor", "emacs", "--yes").exit_code == 2
    assert not (home / ".local").exists()
    assert setup("cursor", typed="y\n").exit_code == 0
    assert tree(home) != before


def test_a_home_that_cannot_be_written_is_a_sentence(home: Path) -> None:
    (home / ".local").touch()
    result = setup("cursor", "--yes")
    assert (result.exit_code, f"{home}/.local/state/engrain/setup was left as it is" in result.output) == (1, True)
    assert setup().exit_code == 0


def test_setups_at_once_all_count(home: Path) -> None:
    configuration("cursor").write_text(COMMENTED)
    before = tree(home)
    command = [sys.executable, "-P", "-c", "from cli.main import app; app()", "setup", "--yes"]
    names = ["cursor", "cursor", "gemini", "qwen"]
    running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for name in names]
    for process in running:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert setup().output.count(" set up\n") == 3
    done("--remove")
    assert tree(home) == before
