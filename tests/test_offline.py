"""What runs on this machine says nothing to anybody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EMBED = (
    "from stores.embedding import EmbeddingSpec, build_embedder; "
    "embedder = build_embedder(EmbeddingSpec()); embedder.embed_query('hello'); embedder.close()"
)
ENCODE = (
    "from stores.embedding.builtin import LateEncoder; "
    "encoder = LateEncoder(); encoder.encode_question('hello'); encoder.close()"
)


@pytest.mark.parametrize("program", [EMBED, ENCODE], ids=["embedder", "late"])
def test_the_model_runtime_reports_and_writes_nothing(program: str, tmp_path: Path) -> None:
    """Its telemetry, where it is on, begins with a device id in the home folder and a session file in the temporary."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    subprocess.run(
        [sys.executable, "-P", "-c", program], env={**environ, "HOME": str(home), "TMPDIR": str(temporary)},
        check=True, timeout=120,
    )  # fmt: skip
    assert [*home.rglob("*"), *temporary.rglob("*")] == []
