"""`engrain synthesize` at a real server: the document on standard output, everything else beside it."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.synthesis import DEPTHS, OUTPUT_TYPES
from tests.cli.client.conftest import Shell, bearer, server, signed_up
from tools.runtime.launch import ServerProcess
from tools.synthesis.templates import EXTENTS, TEMPLATES

__all__ = ["server"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ada(server: ServerProcess) -> dict[str, Any]:
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        signed = signed_up(http, "ada")
        for body in (
            {"name": "Lighthouse", "entity_type": "project"},
            {"name": "Lamps turn by night", "entity_type": "decision", "content": "Lamps turn every 9 seconds."},
        ):
            answer = http.post("/api/entities", json=body, params={"sync": True}, headers=bearer(signed))
            assert answer.status_code == 201
        return signed


@pytest.fixture
def shell(tmp_path: Path, server: ServerProcess, ada: dict[str, Any]) -> Shell:
    return Shell(tmp_path, {"ENGRAIN_URL": server.address, "ENGRAIN_TOKEN": ada["access_token"]})


def test_the_words_that_it_takes_are_those_of_the_server() -> None:
    assert tuple(TEMPLATES) == OUTPUT_TYPES
    assert tuple(EXTENTS) == DEPTHS


def test_it_prints_a_document(shell: Shell) -> None:
    code, said = shell.run("synthesize", "--goal", "How lamps turn", "--project", "lighthouse", "--audience", "keepers")
    assert code == 0
    assert "# How lamps turn" in said
    assert "Documentation for keepers" in said
    assert "Lamps turn every 9 seconds." in said
    assert "gap(s), listed at the end" in said


def test_it_prints_data_and_keeps_the_document(shell: Shell) -> None:
    words = "-g", "How lamps turn", "-t", "release-notes", "-f", "json", "--remember", "-p", "Lighthouse"
    code, said = shell.run("synthesize", *words)
    assert code == 0
    data, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    assert data["output_type"] == "release_notes"
    assert "Kept as raw_memory_" in said
    assert "(project)" in said


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (("--goal", "x", "--type", "poem"), 2, "documentation"),
        (("--goal", " "), 2, "says nothing"),
        ((), 2, "--goal"),
        (("--goal", "x", "--project", "Nowhere"), 1, "project_access_denied"),
        (("--goal", "x", "--project", "project_000000000000"), 1, "project_access_denied"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(shell: Shell, words: tuple[str, ...], code: int, answer: str) -> None:
    done, said = shell.run("synthesize", *words)
    assert done == code
    assert answer in said


def test_nobody_is_logged_in(shell: Shell) -> None:
    assert shell.run("synthesize", "--goal", "x", ENGRAIN_TOKEN="")[0] == 3
