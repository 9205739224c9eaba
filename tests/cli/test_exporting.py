"""`engrain export`: whole files in three formats, at a real server, and notes that a vault can hold."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pyarrow.parquet as pq
import pytest

from cli.exporting import markdown
from tests.cli.client.conftest import Shell, place, server
from tests.tools.imports.sources import records, relations
from tools.imports.files import open_source

__all__ = ["place", "server"]


@pytest.mark.slow
def test_an_export_is_written_in_each_format(place: tuple[Shell, httpx2.Client], tmp_path: Path) -> None:
    shell, http = place
    for number in range(3):
        note = {"name": f"Note {number}", "content": "Ä", "entity_type": "note"}
        http.post("/api/entities", json=note).raise_for_status()
    file, folder = tmp_path / "all.jsonl", tmp_path / "all"
    code, said = shell.run("export", str(file))
    assert (code, said.strip()) == (0, f"Exported 3 records to {file}.")
    head, *lines = map(json.loads, file.read_text().splitlines())
    assert (head, len(lines)) == ({"format": "engrain-export", "version": 1}, 3)
    assert file.stat().st_mode & 0o777 == 0o600
    assert shell.run("export", str(file))[0] == 2, "it is there"
    table = tmp_path / "all.parquet"
    assert shell.run("export", str(table), "--format", "parquet")[0] == 0
    assert pq.read_table(table).column("content").to_pylist() == ["Ä"] * 3
    for export in (file, table):
        code, said = shell.run("import", str(export), "--json")
        counts = json.loads(said)["progress"]
        assert (counts["imported_count"], counts["dedupe_count"]) == ((3, 0) if export is file else (0, 3)), said
    shell.run("import", str(file), "--scope", "organization")
    code, said = shell.run("export", str(folder), "--format", "markdown", "--json")
    assert (code, json.loads(said)["lines"]) == (0, {"record": 9})
    assert len({path.name for path in folder.rglob("*.md")}) == 9
    assert shell.run("export", str(tmp_path / "x"), "--project", "Nowhere")[0] == 1
    assert sorted(path.name for path in tmp_path.iterdir() if "xport-" in path.name or path.name == "x") == []


def record(record_id: str, name: str, **more: Any) -> dict[str, Any]:
    plain = {"type": "note", "description": "", "content": f"About {record_id}.", "tags": [], "metadata": {}}
    times = {"created_at": "2025-03-01T10:00:00+00:00", "updated_at": "2025-03-02T10:00:00+00:00"}
    return {"kind": "record", "id": record_id, "name": name, "capture": None, **plain, **times, **more}


def test_notes_are_read_back_with_titles_tags_times_and_links(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    titles = ('He said: "no" [[x]] #1', "../../etc/passwd", "Same", "same", "...", 'It\'s \\ "odd"')
    names = dict(zip("abcdef", titles, strict=True))
    notes = [record(each, name, tags=["on call", "a/b"]) for each, name in names.items()]
    link = {"kind": "relation", "name": "ABOUT", "invalid_at": None}
    links = [link | {"source_id": "c", "target_id": each} for each in ("a", "d", "c2", "gone")]
    markdown(folder, [notes, [record("c2", "Guide", type="document"), *links]])
    found = {each.origin.path: each for each in records("markdown", open_source(folder))}
    assert {each.name for each in found.values()} == {*names.values(), "Guide"}
    assert found["note/Same.md"].tags == ["on call", "a/b"]
    assert found["note/Same.md"].metadata["captured_at"] == "2025-03-01T10:00:00+00:00"
    assert {(source, target) for source, _, target in relations("markdown", open_source(folder))} == {
        ("note/Same.md", "note/He said no x 1.md"), ("note/Same.md", "note/same (d).md"),
        ("note/Same.md", "document/Guide.md"),
    }  # fmt: skip
