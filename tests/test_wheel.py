"""The wheel works where no checkout is: built, installed into an empty environment, and asked one question."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

from stores.embedding.shipped import SHA256

ROOT = Path(__file__).parent.parent
FOLDERS = ("tools", "stores", "rest_bridge", "auth", "cli", "evals")
ROUND_TRIP = """
import sys, tempfile
from pathlib import Path
import httpx2
from tools.runtime.launch import server_process
import stores
assert not Path(stores.__file__).is_relative_to(sys.argv[1]), stores.__file__
with tempfile.TemporaryDirectory() as folder, server_process(Path(folder)) as server:
    with httpx2.Client(base_url=server.address, timeout=30) as http:
        body = {"email": "a@example.org", "password": "long enough", "name": "A"}
        token = http.post("/api/auth/local/signup", json=body).raise_for_status().json()["access_token"]
        http.headers["Authorization"] = "Bearer " + token
        note = {"name": "Wheel", "content": "The wheel turns."}
        made = http.post("/api/entities", params={"sync": "true"}, json=note).raise_for_status().json()
        assert made["background_jobs"]["pending_indexes"] == [], made
        found = http.post("/api/search", json={"query": "what turns?"}).raise_for_status().json()
        assert found["results"][0]["id"] == made["id"], found
print("round trip done")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)], check=True,
        capture_output=True, timeout=300,
    )  # fmt: skip
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_folder_the_models_and_the_migrations(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if not name.startswith("engrain-")} == set(FOLDERS)
    assert {f"stores/models/{name}" for name in (*SHA256, "LICENSE", "NOTICE")} <= set(names)
    assert any(name.startswith("stores/ledger/migrations/versions/") for name in names)
    plugin = (
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "hooks/hooks.json",
        "hooks/reflect.txt",
        "skills/engrain/SKILL.md",
    )
    assert {"cli/setup/clients.toml", *(f"cli/setup/plugin/{name}" for name in plugin)} <= set(names)


@pytest.mark.slow
def test_an_installed_wheel_answers_a_question(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, system_site_packages=False)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python3*")) / "site-packages"
    # Its dependencies are this environment's; the package itself comes from the wheel alone.
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(others))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    answer = subprocess.run(
        [str(python), "-P", "-c", ROUND_TRIP, str(ROOT)], cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"}, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert "round trip done" in answer.stdout


def test_no_other_distribution_owns_our_import_names() -> None:
    owners = {
        (folder, distribution.name)
        for distribution in distributions()
        for folder in FOLDERS
        for file in distribution.files or ()
        if file.parts[0] == folder and distribution.name != "engrain"
    }
    assert owners == set()
