"""The command as people run it: a real repository, exit codes, the order of things, pipes and terminals."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.release_notes.looms import HOSTILE, RANGE, SKIPPED, run
from tests.cli.release_notes.repositories import Built
from tests.model_server import ModelServer

GOLDEN = Path(__file__).parent / "golden.md"
PROGRAM = [sys.executable, "-P", "-c", "from cli.main import app; app()", "release-notes"]
ROOT = Path(__file__).resolve().parents[3]


def test_the_document_is_as_it_was_read_and_found_good(looms: Path) -> None:
    result = run(*RANGE, "--raw")
    assert result.exit_code == 0, result.stderr
    if os.environ.get("ENGRAIN_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(result.stdout, encoding="utf-8")
    assert result.stdout == GOLDEN.read_text(encoding="utf-8"), "read it, then ENGRAIN_WRITE_GOLDEN=1"
    assert result.stderr == SKIPPED
    assert run(*RANGE, "--raw", "--no-critic").stderr == ""


PRESETS = {
    "CONCISE": ["- **Weave patterns with `weave()` from a card** ([`", "- Wind bobbins twice as fast ([`"],
    "detailed": ["It takes three threads at least.", "- Explain how cards are cut"],
    "technical": ["Bump punch from 1.4 to 2.0 ([`", "- Tidy the tests"],
}


@pytest.mark.parametrize(("preset", "parts"), PRESETS.items())
def test_a_preset_says_how_much_is_said(preset: str, parts: list[str], looms: Path) -> None:
    shown = run(*RANGE, "--raw", "--preset", preset).stdout
    for part in parts:
        assert part in shown


REFUSED = {
    "no start": ((), "--from", 2),
    "unknown preset": ((*RANGE, "--preset", "loud"), "loud", 2),
    "unknown provider": ((*RANGE, "--provider", "acme"), "acme", 2),
    "unknown flag": ((*RANGE, "--frm"), "--frm", 2),
    "stray word": ((*RANGE, "v3"), "v3", 2),
    "bytes": (("--from", "\udcff\udcfe"), "--from '\ufffd\ufffd' is no tag", 1),
    "no repository": ((*RANGE, "--repo", "/nowhere/at/all"), "/nowhere/at/all", 1),
}


@pytest.mark.parametrize(("words", "named", "code"), REFUSED.values(), ids=REFUSED)
def test_a_command_line_that_makes_no_sense_is_exit_code_2_and_a_failure_is_one_sentence_and_exit_code_1(
    words: tuple[str, ...], named: str, code: int, looms: Path
) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert named in result.stderr
    if code == 1:
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_working_folder_that_was_deleted_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = run("--from", "v1")
    assert result.exit_code == 1
    assert result.stderr == "Error: The working folder cannot be found: No such file or directory.\n"


def test_another_repository_is_read_and_the_file_stays_here(looms: Path, tmp_path: Path) -> None:
    (here := tmp_path / "elsewhere").mkdir()
    os.chdir(here)
    result = run(*RANGE, "--raw", "-r", str(looms), "--update")
    assert result.exit_code == 0, result.stderr
    assert result.stdout in (here / "RELEASE_NOTES.md").read_text(encoding="utf-8")
    assert "Weave patterns" in result.stdout


def test_what_is_printed_is_put_into_the_file_once(looms: Path) -> None:
    file = looms / "RELEASE_NOTES.md"
    file.write_bytes(b"# looms v1.0.0\r\n\r\nFirst, \xe9.")
    first = run(*RANGE, "--raw", "--update")
    again = run(*RANGE, "--raw", "--update", "--preset", "concise")
    assert (first.exit_code, again.exit_code) == (0, 0)
    begin, entry, rest = file.read_bytes().partition(again.stdout.replace("\n", "\r\n").encode())
    assert re.fullmatch(rb"<!-- begin release notes v1\.1\.0 [0-9a-f]{16} -->\r\n", begin)
    assert entry
    assert rest == b"<!-- end release notes v1.1.0 -->\r\n\r\n---\r\n\r\n# looms v1.0.0\r\n\r\nFirst, \xe9."
    assert first.stderr == f"{SKIPPED}RELEASE_NOTES.md: looms v1.1.0 added.\n"
    assert again.stderr == f"{SKIPPED}RELEASE_NOTES.md: looms v1.1.0 replaced.\n"


def test_a_write_that_fails_comes_after_the_print(looms: Path) -> None:
    result = run(*RANGE, "--raw", "--no-critic", "--update", "--file", "none/NEWS.md")
    assert result.exit_code == 1
    assert result.stdout == GOLDEN.read_text(encoding="utf-8")
    assert result.stderr.startswith("Error: none/NEWS.md cannot be written")


def test_debug_shows_each_step_with_its_time_on_standard_error(looms: Path) -> None:
    result = run(*RANGE, "--raw", "--debug", "--no-critic")
    assert result.stdout == GOLDEN.read_text(encoding="utf-8")
    lines = result.stderr.splitlines()
    assert all(re.match(r"\[ *\d+\.\d{3} s\] \w", line) for line in lines)
    assert any("model offline" in line for line in lines)
    assert any("11 commits" in line for line in lines)


def test_files_configure_and_flags_override(looms: Path, tmp_path: Path) -> None:
    personal = tmp_path / "config" / "engrain"
    personal.mkdir(parents=True)
    (personal / "config.toml").write_text('[release_notes]\npreset = "technical"\ninstructions = "security"\n')
    (looms / ".engrain.toml").write_text('[release_notes]\npreset = "concise"\nfile = "NEWS.md"\n')
    result = run(*RANGE, "--raw", "--update", "-i", "")
    assert result.stdout == run(*RANGE, "--raw", "--preset", "concise", "-i", "").stdout
    assert (looms / "NEWS.md").exists()
    detailed = run(*RANGE, "--raw", "--preset", "detailed", "--instructions", "")
    assert "It takes three threads" in detailed.stdout


def started(folder: Path, *words: str, **streams: object) -> "subprocess.Popen[bytes]":
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100"}
    return subprocess.Popen([*PROGRAM, *words], cwd=folder, env=environ, **streams)  # type: ignore[call-overload, no-any-return]


def test_a_reader_who_leaves_ends_nothing_badly(looms: Path, built: Built) -> None:
    for number in range(40):
        built.commit(f"feat: thing {'x' * 150} {number}")
    for words in (("--raw",), ()):
        reader, writer = os.pipe()
        words = ("--from", "v1.1.0", "--preset", "detailed", "--no-critic", *words)
        process = started(looms, *words, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        os.close(reader)
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told) == (0, b"")


def test_a_full_disk_is_a_sentence_and_no_output_at_all_is_fine(looms: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = started(looms, *RANGE, "--raw", "--no-critic", stdout=full, stderr=subprocess.PIPE)
        _, told = done.communicate(timeout=60)
    assert (done.returncode, told) == (1, b"Error: The notes cannot be printed: No space left on device.\n")
    words = [*PROGRAM, *RANGE, "--raw", "--update", "--no-critic"]
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words],
        cwd=looms, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert (closed.returncode, closed.stderr) == (0, b"RELEASE_NOTES.md: looms v1.1.0 created.\n")


@pytest.mark.parametrize(
    "address",
    ["https://ada:s3cret@127.0.0.1:9/looms.git", "https://127.0.0.1:9/looms.git?access_token=s3cret",
     "https://127.0.0.1:9/looms.git#s3cret", "https://tok@en:s3cret@127.0.0.1:9/looms.git",
     "https://ada:p/s3cret@127.0.0.1:9/looms.git", "https://[ada:s3cret@::1/looms.git",
     "ada:s3cret@127.0.0.1:9/looms.git", "gopher://ada:s3cret@127.0.0.1:9/looms.git"],
)  # fmt: skip
def test_credentials_of_an_address_are_shown_nowhere(looms: Path, address: str) -> None:
    result = run(*RANGE, "--debug", "--repo", address)
    assert result.exit_code == 1
    assert "s3cret" not in result.stdout + result.stderr
    assert "looms.git" in result.stderr


def test_ctrl_c_is_a_sentence(looms: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.delay_s = 60
    words = (*RANGE, "--provider", "ollama", "--model", "m", "--debug")
    monkeypatch.setenv("ENGRAIN_LLM_BASE_URL", server.address)
    process = started(looms, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not server.requests and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate(timeout=30)
    assert (process.returncode, shown) == (1, b"")
    assert told.decode().splitlines()[-1].startswith("Error: Interrupted")
    assert b"Traceback" not in told


def on_terminal(folder: Path, *words: str) -> tuple[int, str]:
    controller, terminal = pty.openpty()
    process = started(folder, *words, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(controller, 65_536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(controller)
    return process.wait(timeout=60), shown.decode()


def test_a_terminal_shows_the_steps_and_obeys_no_commit_message(looms: Path, built: Built) -> None:
    for message, author in HOSTILE:
        built.commit(message, author=author)
    code, shown = on_terminal(looms, "--from", "v1.1.0")
    assert code == 0
    assert re.search(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]\x1b\[0m (?:Settings|Opening|Reading|Analysed|Finding|Sorting|Ranking)", shown)
    # What the console library writes: colours, cursor, lines erased, and links to where commits can be read.
    shown = re.sub(r"\x1b\]8;id=\d+;https://github\.com/lovelace/looms/[\w./]*\x1b\\", "", shown)
    shown = re.sub(r"\x1b\]8;;\x1b\\", "", shown)
    shown = re.sub(r"\x1b\[(?:[\d;]*m|\?25[hl]|2K|1?[AG])", "", shown)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|## |\*\*", shown)


def test_raw_on_a_terminal_has_no_colour_and_no_spinner(looms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, shown = on_terminal(looms, *RANGE, "--raw", "--no-critic")
    assert code == 0
    assert shown.replace("\r\n", "\n") == GOLDEN.read_text(encoding="utf-8")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*3[0-7]m", on_terminal(looms, *RANGE)[1])


def test_the_help_loads_no_git_library_no_model_and_no_server(looms: Path) -> None:
    code = "import sys; from cli.main import app\ntry: app()\nfinally: print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "release-notes", "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "--version-name" in done.stdout
    for module in ("pygit2", "pydantic_ai", "starlette", "sqlalchemy", "anyio"):
        assert f"'{module}'" not in done.stderr
