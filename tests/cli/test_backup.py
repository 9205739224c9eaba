"""Backups that are taken while a server writes, and restored; archives that nobody should restore."""

import gzip
import io
import json
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import httpx2
import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from stores.folder import DataFolder
from stores.ledger import AuditDraft, Ledger
from stores.records import Organization
from tests.people import PASSWORD
from tools.runtime.launch import server_process

ENVIRON = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
Files = dict[str, bytes]


def run(*words: object, **environ: str) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={**ENVIRON, **environ})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for name in ("jwt_secret", "instance", "server.log", "mail/one.eml", "organizations/org/index"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a" * 40)
    with closing(Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}")) as ledger:
        ledger.people.create_organization(Organization("org", "Org", "org-slug", False, ledger._clock()))
        ledger.audit.append(AuditDraft("project.create", "org", "ann"))
    return folder


@pytest.fixture
def archive(data: Path, tmp_path: Path) -> Path:
    assert run("backup", tmp_path / "kept.tar.gz", "--data-dir", data).exit_code == 0
    return tmp_path / "kept.tar.gz"


@pytest.mark.slow
def test_a_backup_beside_a_writer_holds_all_that_was_acknowledged_before_it(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    enough, ended = threading.Event(), threading.Event()
    data, kept, new = tmp_path / "data", tmp_path / "kept.tar.gz", tmp_path / "new"

    def write(http: httpx2.Client) -> None:
        while not ended.is_set():
            note = {"name": f"Note {len(acknowledged)}", "content": "A wheel turns. " * 200}
            acknowledged.append(http.post("/api/entities", json=note).raise_for_status().json()["id"])
            if len(acknowledged) == 40:
                enough.set()

    with server_process(data, environ=ENVIRON) as server, httpx2.Client(base_url=server.address, timeout=30) as http:
        person = {"email": "ada@example.org", "password": PASSWORD, "name": "Ada"}
        token = http.post("/api/auth/local/signup", json=person).raise_for_status().json()["access_token"]
        http.headers["Authorization"] = f"Bearer {token}"
        writer = threading.Thread(target=write, args=(http,))
        writer.start()
        try:
            assert enough.wait(60)
            for _ in range(50):
                kept.unlink(missing_ok=True)
                before = list(acknowledged)
                assert run("backup", kept, "--data-dir", data).exit_code == 0
                if len(acknowledged) > len(before):
                    break
            else:
                pytest.fail("nothing was written while a backup was taken")
        finally:
            ended.set()
            writer.join()

    result = run("restore", kept, "--data-dir", new)
    assert (result.exit_code, "The audit log verifies." in result.stdout) == (0, True), result.output
    assert run("check", "--data-dir", new).exit_code == 0
    with server_process(new, environ=ENVIRON) as server, httpx2.Client(base_url=server.address, timeout=30) as http:
        http.headers["Authorization"] = f"Bearer {token}"
        assert [each for each in before if http.get(f"/api/entities/{each}").status_code != 200] == []
        assert http.post("/api/search", json={"query": "wheel"}).raise_for_status().json()["results"]


def test_a_backup_holds_all_that_is_not_derived_for_its_owner_alone(data: Path, archive: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(data / "analytics.duckdb")) as exposures:
        exposures.execute("CREATE TABLE exposures AS SELECT 7 AS rank")
    assert run("backup", "--data-dir", data).exit_code == 0
    (second,), new = (data / "backups").iterdir(), tmp_path / "new"
    names = {"manifest.json", "ledger.sqlite", "jwt_secret", "instance", "mail/one.eml"}
    assert set(unpacked(archive)) == names
    assert set(unpacked(second)) == names | {"analytics.duckdb"}

    assert run("restore", second, "--data-dir", new).exit_code == 0
    with duckdb.connect(str(new / "analytics.duckdb")) as exposures:
        assert exposures.execute("SELECT rank FROM exposures").fetchall() == [(7,)]
    assert (new / "mail" / "one.eml").read_text() == (new / "jwt_secret").read_text() == "a" * 40
    files = (archive, second, new / "jwt_secret", new / "ledger.sqlite", new / "mail" / "one.eml")
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}


def test_a_backup_replaces_nothing_and_leaves_nothing_when_it_fails(data: Path, archive: Path, tmp_path: Path) -> None:
    before = archive.read_bytes()
    assert "exists already" in run("backup", archive, "--data-dir", data).stderr
    assert "holds no ledger.sqlite" in run("backup", "--data-dir", tmp_path / "typo").stderr
    assert "/proc/x" in run("backup", "/proc/x", "--data-dir", data).stderr
    assert [run("backup", tmp_path / "data" / "nightly", "--data-dir", data).exit_code for _ in range(2)] == [0, 0]
    (data / "ledger.sqlite").write_bytes((data / "ledger.sqlite").read_bytes()[:8192] + b"x" * 99_000)
    assert "cannot be backed up" in run("backup", tmp_path / "damaged.tar.gz", "--data-dir", data).stderr
    assert (archive.read_bytes(), sorted(each.name for each in tmp_path.iterdir())) == (before, ["data", "kept.tar.gz"])


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_ledger_on_postgresql_is_left_to_its_own_tools(command: str, archive: Path, tmp_path: Path) -> None:
    words = [archive] if command == "restore" else []
    url = "postgresql+psycopg://engrain@db.internal/engrain"
    result = run(command, *words, "--data-dir", tmp_path / "new", ENGRAIN_DATABASE_URL=url)
    assert (result.exit_code, "pg_dump" in result.stderr) == (1, True)


def test_a_folder_with_something_in_it_or_a_server_is_not_restored_into(archive: Path, tmp_path: Path) -> None:
    assert "is not empty" in run("restore", archive, "--data-dir", tmp_path / "data").stderr
    with closing(DataFolder.claim(tmp_path / "served")):
        assert "is in use by process" in run("restore", archive, "--data-dir", tmp_path / "served").stderr


def unpacked(archive: Path) -> Files:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def packed(files: Files, *, link: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if name == link:
                entry.size, entry.type, entry.linkname = 0, tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def altered(files: Files, **members: object) -> Files:
    manifest = json.loads(files["manifest.json"])
    manifest["members"] |= members
    return files | {"manifest.json": json.dumps(manifest).encode()}


def without(files: Files, name: str) -> Files:
    return {each: content for each, content in files.items() if each != name}


OUT = {"size": 1, "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
BAD: dict[str, Callable[[bytes, Files], bytes]] = {
    "it holds '../out'": lambda _, files: packed(altered(files, **{"../out": OUT}) | {"../out": b"x"}),
    "it holds 'mail/more.eml'": lambda _, files: packed(files | {"mail/more.eml": b"x"}),
    "jwt_secret differs": lambda _, files: packed(files | {"jwt_secret": b"b" * 40}),
    "jwt_secret is missing, or": lambda _, files: packed(files, link="jwt_secret"),
    "instance is missing, or": lambda _, files: packed(files | {"instance": b"a" * 41}),
    "ledger.sqlite is missing": lambda _, files: packed(without(files, "ledger.sqlite")),
    "manifest.json is missing": lambda _, files: packed(without(files, "manifest.json")),
    "format 2": lambda _, files: packed(files | {"manifest.json": b'{"format": 2, "version": "9"}'}),
    "cannot be restored: 'members'": lambda _, files: packed(files | {"manifest.json": b'{"format": 1}'}),
    "ended before": lambda whole, _: whole[: len(whole) // 2],
    "not a gzip file": lambda *_: b"no archive",
    "cannot be restored: ": lambda *_: gzip.compress(b"no tar" * 200),
}


@pytest.mark.parametrize("sentence", BAD)
def test_an_archive_that_is_not_what_was_backed_up_is_refused(sentence: str, archive: Path, tmp_path: Path) -> None:
    bad, new = tmp_path / "bad", tmp_path / "new"
    bad.write_bytes(BAD[sentence](archive.read_bytes(), unpacked(archive)))
    result = run("restore", bad, "--data-dir", new)
    assert (result.exit_code, str(bad) in result.stderr, sentence in result.stderr) == (1, True, True), result.output
    assert [each.name for each in new.iterdir()] == ["lock"]
    assert not (tmp_path / "out").exists()
    assert run("restore", archive, "--data-dir", new).exit_code == 0


@pytest.mark.parametrize(
    ("change", "sentence", "left"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "written by a newer version", {"lock"}),
        ("UPDATE audit_entries SET action = 'x'", "org-slug: entry 1 of the audit log", {"lock", "ledger.sqlite"}),
    ],
)
def test_a_ledger_of_a_newer_version_or_with_an_altered_audit_log_is_named(
    change: str, sentence: str, left: set[str], data: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(data / "ledger.sqlite")) as changed:
        changed.execute(change)
        changed.commit()
    assert run("backup", tmp_path / "kept.gz", "--data-dir", data).exit_code == 0
    result = run("restore", tmp_path / "kept.gz", "--data-dir", tmp_path / "new")
    assert (result.exit_code, sentence in result.stderr) == (1, True), result.output
    assert {each.name for each in (tmp_path / "new").iterdir()} & {"lock", "ledger.sqlite"} == left
