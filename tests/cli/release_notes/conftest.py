import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.release_notes.looms import build
from tests.cli.release_notes.repositories import Built
from tests.model_server import ModelServer, model_server
from tools.llm.model import LIBRARY


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return build(tmp_path / "looms")


@pytest.fixture
def looms(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder is the repository; no setting reaches the command from outside."""
    monkeypatch.chdir(tmp_path / "looms")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in [each for each in os.environ if each.startswith("ENGRAIN_LLM_") or each.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    return tmp_path / "looms"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    pytest.importorskip(LIBRARY, reason="the extra `llm` is not installed")
    with model_server() as running:
        yield running
