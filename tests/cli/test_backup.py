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
from stores.records import EntityDraft, Organization
from tests.people import PASSWORD
from tools.runtime.launch import server_process

ENVIRON = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
Files = dict[str, bytes]


def run(*words: object, **environ: str) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={**ENVIRON, **environ})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    with closing(Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}")) as ledger:
        ledger.people.create_organization(Organization("org", "Org", "org-slug", False, ledger._clock()))
        ledger.audit.append(AuditDraft("project.create", "org", "ann"))
        with ledger.transaction("org", "ann") as tx:
            tx.records.create_entity(EntityDraft("note_1", "note", "Note", "organization", "organization"))
    for name in ("jwt_secret", "instance", "server.log", "mail/one.eml", "organizations/org/index"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a" * 40)
    return folder


@pytest.fixture
def archive(data: Path, tmp_path: Path) -> Path:
    assert run("backup", tmp_path / "kept.tar.gz", "--data-dir", data).exit_code == 0
    return tmp_path / "kept.tar.gz"


def unpacked(archive: Path) -> Files:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def packed(path: Path, files: Files, *, link: str = "") -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if name == link:
                entry.size, entry.type, entry.linkname = 0, tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(entry, io.BytesIO(content))


@pytest.mark.slow
def test_a_backup_beside_a_writer_holds_all_that_was_acknowledged_before_it(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    enough, ended = threading.Event(), threading.Event()

    def write(http: httpx2.Client) -> None:
        while not ended.is_set():
            note = {"name": f"Note {len(acknowledged)}", "content": "A wheel turns. " * 200}
            acknowledged.append(http.post("/api/entities", json=note).raise_for_status().json()["id"])
            if len(acknowledged) == 40:
                enough.set()

    with (
        server_process(tmp_path / "data", environ=ENVIRON) as server,
        httpx2.Client(base_url=server.address, timeout=30) as http,
    ):
        person = {"email": "ada@example.org", "password": PASSWORD, "name": "Ada"}
        token = http.post("/api/auth/local/signup", json=person).raise_for_status().json()["access_token"]
        http.headers["Authorization"] = f"Bearer {token}"
        writer = threading.Thread(target=write, args=(http,))
        writer.start()
        try:
            assert enough.wait(60)
            for _ in range(50):
                (tmp_path / "kept.tar.gz").unlink(missing_ok=True)
                before = list(acknowledged)
                assert run("backup", tmp_path / "kept.tar.gz", "--data-dir", tmp_path / "data").exit_code == 0
                if len(acknowledged) > len(before):
                    break
            else:
                pytest.fail("nothing was written while a backup was taken")
        finally:
            ended.set()
            writer.join()

    result = run("restore", tmp_path / "kept.tar.gz", "--data-dir", tmp_path / "new")
    assert (result.exit_code, "The audit log verifies." in result.stdout) == (0, True), result.output
    assert run("check", "--data-dir", tmp_path / "new").exit_code == 0
    with (
        server_process(tmp_path / "new", environ=ENVIRON) as server,
        httpx2.Client(base_url=server.address, timeout=30, headers={"Authorization": f"Bearer {token}"}) as http,
    ):
        missing = [each for each in before if http.get(f"/api/entities/{each}").status_code != 200]
        found = http.post("/api/search", json={"query": "wheel"}).raise_for_status().json()["results"]
    assert missing == []
    assert found


def test_a_backup_holds_all_that_is_not_derived_for_its_owner_alone(data: Path, archive: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(data / "analytics.duckdb")) as exposures:
        exposures.execute("CREATE TABLE exposures AS SELECT 7 AS rank")
    (tmp_path / "kept").mkdir()
    assert run("backup", tmp_path / "kept", "--data-dir", data).exit_code == 0
    assert run("backup", "--data-dir", data).exit_code == 0
    (second,), (third,) = (tmp_path / "kept").iterdir(), (data / "backups").iterdir()
    assert [each.stat().st_mode & 0o777 for each in (archive, second, third)] == [0o600] * 3
    names = {"manifest.json", "ledger.sqlite", "jwt_secret", "instance", "mail/one.eml"}
    assert set(unpacked(archive)) == names
    assert set(unpacked(third)) == names | {"analytics.duckdb"}

    assert run("restore", second, "--data-dir", tmp_path / "new").exit_code == 0
    with duckdb.connect(str(tmp_path / "new" / "analytics.duckdb")) as exposures:
        assert exposures.execute("SELECT rank FROM exposures").fetchall() == [(7,)]
    assert (tmp_path / "new" / "mail" / "one.eml").read_text() == "a" * 40
    assert (tmp_path / "new" / "jwt_secret").stat().st_mode & 0o777 == 0o600
    assert run("check", "--data-dir", tmp_path / "new").exit_code == 0


def test_a_backup_replaces_nothing_and_leaves_nothing_when_it_fails(data: Path, archive: Path, tmp_path: Path) -> None:
    before = archive.read_bytes()
    assert "exists already" in run("backup", archive, "--data-dir", data).stderr
    assert "holds no ledger.sqlite" in run("backup", "--data-dir", tmp_path / "typo").stderr
    assert "/proc/x" in run("backup", "/proc/x", "--data-dir", data).stderr
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
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").touch()
    assert "is not empty" in run("restore", archive, "--data-dir", tmp_path / "home").stderr
    assert [each.name for each in (tmp_path / "home").iterdir()] == ["letter"]
    with closing(DataFolder.claim(tmp_path / "served")) as served:
        served.announce("http://127.0.0.1:1234")
        assert "is in use by process" in run("restore", archive, "--data-dir", tmp_path / "served").stderr


def altered(change: Callable[[dict[str, object]], object]) -> Callable[[Files], Files]:
    def alter(files: Files) -> Files:
        manifest = json.loads(files["manifest.json"])
        change(manifest)
        return {**files, "manifest.json": json.dumps(manifest).encode()}

    return alter


def longer(files: Files) -> Files:
    more = {"../out": b"x"}
    manifest = json.loads(files["manifest.json"])
    manifest["members"]["../out"] = {
        "size": 1,
        "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
    }
    return {**files, "manifest.json": json.dumps(manifest).encode(), **more}


BAD: dict[str, tuple[Callable[[Files], Files], str]] = {
    "a path out of the folder": (longer, "'../out'"),
    "a file that the manifest lacks": (lambda files: {**files, "mail/more.eml": b"x"}, "'mail/more.eml'"),
    "another content": (lambda files: {**files, "jwt_secret": b"b" * 40}, "jwt_secret is not what was backed up"),
    "another size": (lambda files: {**files, "jwt_secret": b"b"}, "jwt_secret is not what was backed up"),
    "a missing file": (lambda files: {name: files[name] for name in files if name != "ledger.sqlite"}, "is missing"),
    "no manifest": (lambda files: {name: files[name] for name in files if name != "manifest.json"}, "manifest"),
    "a later format": (altered(lambda manifest: manifest.update(format=2)), "format 2"),
    "no members": (altered(lambda manifest: manifest.update(members=[])), "cannot be restored"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_archive_that_is_not_what_was_backed_up_is_refused(case: str, archive: Path, tmp_path: Path) -> None:
    change, sentence = BAD[case]
    packed(tmp_path / "bad", change(unpacked(archive)))
    result = run("restore", tmp_path / "bad", "--data-dir", tmp_path / "new")
    assert (result.exit_code, sentence in result.stderr) == (1, True), result.output
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["lock"]
    assert not (tmp_path / "out").exists()
    assert run("restore", archive, "--data-dir", tmp_path / "new").exit_code == 0


def test_links_cut_files_and_others_are_refused(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    bad = {"cut": whole[: len(whole) // 2], "text": b"no archive", "empty": b"", "gzip": gzip.compress(b"no tar" * 200)}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    packed(tmp_path / "link", unpacked(archive), link="jwt_secret")
    for name in (*bad, "link", "absent"):
        result = run("restore", tmp_path / name, "--data-dir", tmp_path / "new")
        assert (result.exit_code, str(tmp_path / name) in result.stderr) == (1, True), (name, result.output)
        assert isinstance(result.exception, SystemExit)
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["lock"]


def change_ledger(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / "ledger.sqlite")) as changed:
        changed.execute(statement)
        changed.commit()


def test_a_backup_of_a_newer_version_is_refused(data: Path, tmp_path: Path) -> None:
    change_ledger(data, "UPDATE alembic_version SET version_num = '9999'")
    assert run("backup", tmp_path / "newer", "--data-dir", data).exit_code == 0
    result = run("restore", tmp_path / "newer", "--data-dir", tmp_path / "new")
    assert (result.exit_code, "newer version" in result.stderr) == (1, True)
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["lock"]


def test_an_audit_log_that_was_altered_is_restored_and_named(data: Path, tmp_path: Path) -> None:
    change_ledger(data, "UPDATE audit_entries SET action = 'project.delete'")
    assert run("backup", tmp_path / "altered", "--data-dir", data).exit_code == 0
    result = run("restore", tmp_path / "altered", "--data-dir", tmp_path / "new")
    assert (result.exit_code, "org-slug: entry 1 of the audit log" in result.stderr) == (1, True)
    assert (tmp_path / "new" / "ledger.sqlite").exists()
