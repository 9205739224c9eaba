"""The wheel works where no checkout is: built, installed into empty environments, and asked one question."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import httpx2
import pytest

from stores.embedding.shipped import SHA256
from tools.runtime.version import VERSION

ROOT = Path(__file__).parent.parent
FOLDERS = ("tools", "stores", "rest_bridge", "auth", "cli", "evals")
MEMBERS_OF_A_PROJECT = ("tools/__init__.py", "auth.py", "stores.py", "cli/__init__.py")


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


@pytest.fixture(scope="module")
def wheels(wheel: Path) -> Path:
    """The wheel and all that it needs; from here on nothing is downloaded."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--constraint", ROOT / "constraints.txt"]
    ran = subprocess.run([*command, "--dest", wheel.parent, wheel], capture_output=True, text=True, timeout=900)
    if "Could not find a version" in ran.stderr:
        pytest.skip("no package index answers, and the packages are not at hand")
    assert ran.returncode == 0, ran.stderr
    return wheel.parent


def installed(installer: str, wheels: Path, folder: Path) -> list[str]:
    offline = ["--no-index", "--find-links", str(wheels)]
    if installer == "pip":
        venv.create(folder / "environment", with_pip=True)
        subprocess.run([folder / "environment/bin/pip", "install", "--quiet", *offline, "engrain"], check=True)
        return [str(folder / "environment/bin/engrain")]
    tool = shutil.which(installer, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if tool is None:
        pytest.skip(f"{installer} is not installed")
    if installer == "uvx":
        return [tool, "--offline", *offline, "--python", sys.executable, "--from", "engrain", "engrain"]
    subprocess.run([tool, "install", "--quiet", f"--pip-args={' '.join(offline)}", "engrain"], check=True)
    return [str(folder / "bin/engrain")]


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["pip", "pipx", "uvx"])
def test_an_installed_wheel_answers_a_question_beside_modules_of_the_same_names(
    installer: str, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PIP_FIND_LINKS", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    places = {"PIP_CONFIG_FILE": "none", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "UV_CACHE_DIR": "uv"}
    for name, place in places.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    command, project, data = installed(installer, wheels, tmp_path), tmp_path / "project", str(tmp_path / "data")
    for name in MEMBERS_OF_A_PROJECT:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("raise RuntimeError('this is not Engrain')")
    monkeypatch.chdir(project)
    assert subprocess.check_output([*command, "version"], text=True).strip() == VERSION
    serve = [*command, "serve", "--port", "0", "--data-dir", data]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2]
        with httpx2.Client(base_url=address, timeout=60) as http:
            body = {"email": "a@example.org", "password": "long enough", "name": "A"}
            token = http.post("/api/auth/local/signup", json=body).raise_for_status().json()["access_token"]
            http.headers["Authorization"] = "Bearer " + token
            note = {"name": "Wheel", "content": "The wheel turns."}
            made = http.post("/api/entities", params={"sync": "true"}, json=note).raise_for_status().json()
            found = http.post("/api/search", json={"query": "what turns?"}).raise_for_status().json()
        findings = json.loads(subprocess.check_output([*command, "doctor", "--json", "--data-dir", data]))
        server.terminate()
    assert (server.returncode, found["results"][0]["id"]) == (0, made["id"])
    states = {(each["check"], each["state"]) for each in findings}
    assert {("lock", "ok"), ("model", "ok"), ("index", "ok"), ("clock", "ok")} <= states
    if installer == "pip":
        subprocess.run([ROOT / "packaging/check.sh", *command], check=True)


def test_no_other_distribution_owns_our_import_names() -> None:
    owners = {
        (folder, distribution.name)
        for distribution in distributions()
        for folder in FOLDERS
        for file in distribution.files or ()
        if file.parts[0] == folder and distribution.name != "engrain"
    }
    assert owners == set()
