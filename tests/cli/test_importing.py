"""`engrain import` at a real server: what is told, and that a killed import loses and doubles nothing."""

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.client.conftest import Shell, place, server

__all__ = ["place", "server"]

LINES, KILLS = 4_000, 10


def notes(folder: Path, count: int) -> Path:
    path = folder / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{n}", "content": f"Note number {n}."}) + "\n" for n in range(count)))
    return path


def imports(http: httpx2.Client) -> list[dict[str, Any]]:
    return list(http.get("/api/ingestion/imports").json()["imports"])


@pytest.mark.slow
def test_a_file_is_previewed_imported_and_known_again(place: tuple[Shell, httpx2.Client], tmp_path: Path) -> None:
    shell, http = place
    path = notes(tmp_path, 3)
    path.write_text(path.read_text() + "{broken\n")
    code, said = shell.run("import", str(path), "--dry-run")
    assert (code, "3 raw_memory" in said, "notes.jsonl:4" in said, imports(http)) == (0, True, True, [])
    code, said = shell.run("import", str(path))
    assert (code, "3 new, 1 skipped. Readable by only you." in said) == (0, True), said
    code, said = shell.run("import", str(path), "--json")
    assert json.loads(said)["progress"]["dedupe_count"] == 3
    assert shell.run("import", str(path), "--format", "fax")[0] == 2
    assert shell.run("import", str(path), "--project", "Nowhere")[0] == 1
    assert shell.run("import", str(tmp_path / "nothing"))[0] == 1


@pytest.mark.slow
def test_an_import_killed_ten_times_keeps_each_record_once(place: tuple[Shell, httpx2.Client], tmp_path: Path) -> None:
    shell, http = place
    path = notes(tmp_path, LINES)
    for _ in range(KILLS):
        before = stored(http)
        with shell.start("import", str(path)) as process:
            while stored(http) == before and process.poll() is None:
                time.sleep(0.005)
            process.kill()
    assert 0 < stored(http) < LINES
    assert shell.run("import", str(path))[0] == 0
    (done,) = imports(http)
    assert (done["status"], done["progress"]["imported_count"]) == ("completed", LINES)
    captures = http.get("/api/entities/captures", params={"limit": 1}).json()
    assert captures["total"] == LINES


def stored(http: httpx2.Client) -> int:
    found = imports(http)
    return int(found[0]["progress"]["imported_count"]) if found else 0
