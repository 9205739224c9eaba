"""`engrain capture-run` at a real server, and the redaction of credentials."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.client.credentials import Credential, Credentials
from tests.cli.client.conftest import PASSWORD, Shell, bearer, rest_of, server, signed_up
from tools.runtime.launch import ServerProcess
from tools.text.credentials import redacted

__all__ = ["server"]

STRIPE = "sk_" + "live_" + "a1B2" * 6
TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"key {STRIPE} end", "key [redacted] end"),
        (f"token: {TOKEN}", "token: [redacted]"),
        ("password = 'hunter2secret'", "password = [redacted]"),
        ('password: "quoted secret; more" end', "password: [redacted] end"),
        ("password=abc", "password=[redacted]"),
        ("https://tok3n0123456789@example.org/x", "https://[redacted]@example.org/x"),
        ("DB_PASSWORD=s3cr3t make", "DB_PASSWORD=[redacted] make"),
        ('{"api_key": "abcdef123456"}', '{"api_key": [redacted]}'),
        (
            "curl --token abcd1234 -H 'Authorization: Bearer abc.def'",
            "curl --token [redacted] -H 'Authorization: [redacted]'",
        ),
        ("Cookie: sid=abc; theme=dark\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("curl -H 'cookie: sid=abc' https://x.org", "curl -H 'cookie: [redacted]' https://x.org"),
        ('{"Authorization": "token abc"}', '{"Authorization": "[redacted]"}'),
        ("curl -u ada:pw https://x.org", "curl -u [redacted] https://x.org"),
        ("curl --user='ada:p w' https://x.org", "curl --user=[redacted] https://x.org"),
        ("The password is hunter2, and", "The password is [redacted], and"),
        ("the API key was: 'letmein'", "the API key was: [redacted]"),
        ("postgresql://ada:pw@db/x", "postgresql://[redacted]@db/x"),
        ("https://hooks.slack.com/services/T0000/B0000/XXXXXXXX", "https://hooks.slack.com/services/[redacted]"),
        ("AccountKey=abc123def456==;x", "AccountKey=[redacted];x"),
        ("password=ab,Cd9x&y=1 https://u:p@s@h/", "password=[redacted]&y=1 https://[redacted]@h/"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nok", "[redacted]\nok"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----\nok", "[redacted]\nok"),
        ("IIEow\n log | AAKCA==\n-----END PRIVATE KEY-----\nok", "[redacted]\nok"),
        (r'{"password":"a\"SECRET", "user": "ada"}', '{"password":[redacted], "user": "ada"}'),
        (r"{\"password\":\"a SECRET\", \"user\": 1}", r"{\"password\":[redacted], \"user\": 1}"),
        ('PASSWORD="C:\\"', "PASSWORD=[redacted]"),
        ("ENCRYPTION_KEY=walrus make", "ENCRYPTION_KEY=[redacted] make"),
        ("key: 'a1B2c3D4e5F6'", "key: '[redacted]'"),
        (f"dckr_{'pat_' + 'a1B2' * 7} SG{'.' + 'a1B2' * 5}-_.{'a1B2' * 10}_-x.", "[redacted] [redacted]."),
        ("mysql -u ada -psecret99 app\nmysqldump -p'x y'", "mysql -u ada -p[redacted] app\nmysqldump -p[redacted]"),
        ("sshpass -p hunter2 ssh -p2222 x", "sshpass -p [redacted] ssh -p2222 x"),
        (f"/b?sig=a1B2%2Fa1B2%2Bc3D4%3D&X-Amz-Signature={'a1b2' * 16}", "/b?sig=[redacted]&X-Amz-Signature=[redacted]"),
        ("signingKey = Zm9v-YmFy_" + "a1B2" * 9, "signingKey = [redacted]"),
    ],
)
def test_credentials_are_redacted(text: str, left: str) -> None:
    changed, found = redacted(text)
    assert (changed, len(found)) == (left, left.count("[redacted]"))
    assert redacted(left) == (left, [])


@pytest.mark.parametrize("seed", ["key=", "key:", "eyJ-", "x_KEY=-u", "mysql -u a", "secret='", "://", "tokentoken"])
def test_a_hostile_text_is_read_in_linear_time(seed: str) -> None:
    # Less than a second; it takes many minutes where each beginning reads to the end.
    assert redacted(seed * 30_000)[0]


@pytest.mark.parametrize(
    "text",
    [
        "commit 2afa36825295c0ffee2afa36825295c0ffee1234", "3 tokens in 0.2 s", "The secret is out.",
        "The password is not valid.", "its token was revoked", "docker run -u 1000:1000 x", "tool -u https://x.org/y",
        "https://example.org:8420/x", "def test_tokens_are_counted(): ...", "monkey: banana",
        "key: app.kubernetes.io/name", "sort_key=created_at", '{"key": "project_5f0c2a91d3e4"}', "KeyError: 'x1'",
        "docker run --name mysql -p3306:3306 mysql:8", "mysql -u ada -P3307 -p app", "?sig=1&x=2", "See SG.md.",
    ],
)  # fmt: skip
def test_other_text_stays(text: str) -> None:
    assert redacted(text) == (text, [])


@dataclass
class Place:
    http: httpx2.Client
    ada: dict[str, Any]
    shell: Shell

    def run(self, *command: str, project: str = "Lighthouse", source_id: str = "r1", **environ: str) -> tuple[int, str]:
        return self.shell.run("capture-run", "-p", project, "--source-id", source_id, "--", *command, **environ)

    def interrupted(
        self, script: str, deed: Callable[["subprocess.Popen[str]"], object], **environ: str
    ) -> tuple[int, str]:
        words = ("-p", "Lighthouse", "--source-id", "r1", "--", "sh", "-c", f"echo begun; {script}")
        with self.shell.start("capture-run", *words, **environ) as process:
            assert process.stdout.readline() == "begun\n"
            deed(process)
            return rest_of(process, "\n")

    def logged_out(self, script: str) -> tuple[Path, "Place"]:
        """Run a script while the login ends; return the file of the run that is kept, and a place with a new login."""
        leave = {"headers": bearer(self.ada)}
        code, said = self.interrupted(f"read x; {script}", lambda _: self.http.post("/api/auth/logout", **leave))
        assert (code, "the next `engrain capture-run` of" in said) == (5, True)
        (kept,) = self.shell.home.rglob("runs/*/*/*.json")
        assert kept.stat().st_mode & 0o777 == 0o600
        entry = {"email": self.ada["user"]["email"], "password": PASSWORD}
        return kept, with_login(self, self.http.post("/api/auth/local/login", json=entry).json())


def with_login(place: Place, signed: dict[str, Any]) -> Place:
    shell = replace(place.shell, environ=place.shell.environ | {"ENGRAIN_TOKEN": signed["access_token"]})
    return replace(place, ada=signed, shell=shell)


def with_project(http: httpx2.Client, name: str, project: str = "Lighthouse") -> dict[str, Any]:
    signed = signed_up(http, name)
    a_project(http, signed, project)
    return signed


def a_project(http: httpx2.Client, signed: dict[str, Any], name: str) -> None:
    body = {"name": name, "entity_type": "project"}
    http.post("/api/entities", json=body, params={"sync": True}, headers=bearer(signed)).raise_for_status()


@pytest.fixture
def place(tmp_path: Path, server: ServerProcess) -> Iterator[Place]:
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        ada = with_project(http, tmp_path.name)
        yield Place(http, ada, Shell(tmp_path, {"ENGRAIN_URL": server.address, "ENGRAIN_TOKEN": ada["access_token"]}))


@pytest.mark.slow
def test_a_run_is_shown_and_kept(place: Place) -> None:
    http, ada = place.http, place.ada
    script = f"echo lamp turns; echo 'password: hunter2x {TOKEN}' >&2; yes walrus | head -c 2000000; exit 3"
    code, said = place.run("sh", "-c", script)
    assert code == 3
    assert "lamp turns\n" in said
    assert "hunter2x" in said, "what the command says is shown as it is"
    assert ", without 4 that looked like credentials." in said
    kept = evidence(http, ada, evidence_id="stdout", content_max_chars=1_000_000)
    told = evidence(http, ada)["experience"]
    step = told["observations"][0]
    assert step["metadata"]["exit_code"] == 3
    assert told["outcome"].startswith("exit code 3 after ")
    assert kept["content"].startswith("lamp turns\nwalrus\n")
    assert "… 1100022 bytes …" in kept["content"]
    assert evidence(http, ada, evidence_id="stderr")["content"] == "password: [redacted] [redacted]\n"
    assert "hunter2x" not in str(step["action"])
    assert place.run("true")[0] == 0
    assert evidence(http, ada, evidence_id="status")["content"].startswith("exit code 0 after ")
    assert place.interrupted("sleep 60", lambda process: process.terminate())[0] == 143
    assert evidence(http, ada, evidence_id="stdout")["content"] == "begun\n"


CUT = """
import os, sys
os.rmdir(os.getcwd())
print("lamp\\n-----BEGIN RSA PRIVATE KEY-----" + "\\nheron" * 200_000)
print("-----BEGIN PRIVATE KEY-----" + "\\nwalrus" * 2000 + "\\n-----END PRIVATE KEY-----" + "\\nx=y" * 174_000)
sys.stderr.write("pwd=xyz\\n" * 100_000)
"""


@pytest.mark.slow
def test_keys_that_are_cut_and_names_are_redacted(place: Place) -> None:
    folder = place.shell.home / "token=hunter2x"
    folder.mkdir()
    moved = replace(place, shell=replace(place.shell, home=folder))
    arguments = ("--password", "hunter2x's, own", "caf\udce9")
    code, said = moved.run("python3", "-c", CUT, *arguments, source_id="r1 password=hunter2x")
    assert (code, "Kept as" in said) == (0, True)

    def part(name: str) -> str:
        asked = {"source_id": "r1 password=[redacted]", "evidence_id": name, "content_max_chars": 1_000_000}
        return str(evidence(place.http, place.ada, **asked)["content"])

    head, told, tail = part("stdout").split("…")
    assert (head, tail) == ("lamp\n[redacted]\n", "\n[redacted]" + "\nx=y" * 174_000 + "\n")
    assert told.endswith(" bytes ")
    assert set(part("stderr")[-900_000:].split()) == {"pwd=[redacted]"}
    assert "hunter2x" not in str(evidence(place.http, place.ada, source_id="r1 password=[redacted]"))


@pytest.mark.slow
def test_a_run_that_cannot_be_kept_is_not_begun_or_not_lost(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert place.run("touch", str(mark), project="Nowhere")[0] == 1
    assert place.run("touch", str(mark), ENGRAIN_TOKEN="old")[0] == 3
    key = {"name": "reader", "live": True, "scopes": ["api:read"]}
    made = place.http.post("/api/auth/api-keys", json=key, headers=bearer(place.ada)).json()["api_key"]
    code, said = place.run("touch", str(mark), ENGRAIN_TOKEN=made)
    assert (code, "may only read" in said) == (1, True)
    assert not mark.exists()
    assert (place.run("no-such-program")[0], place.run(str(tmp_path))[0]) == (127, 126)
    kept, back = place.logged_out("exit 5")
    other = with_login(place, with_project(place.http, f"{tmp_path.name}-other"))
    code, said = other.run("true", source_id="r2")
    assert (code, said.count("Kept as"), kept.exists()) == (0, 1, True)
    code, said = back.run("true", source_id="r2")
    assert (code, said.count("Kept as"), kept.exists()) == (0, 2, False)


@pytest.mark.slow
def test_a_run_is_not_sent_as_somebody_who_logs_in_meanwhile(place: Place, tmp_path: Path) -> None:
    def log_in(signed: dict[str, Any]) -> None:
        known = Credential("session", signed["access_token"], "", signed["refresh_token"])
        place.shell.file.write(Credentials().with_server(place.shell.environ["ENGRAIN_URL"], known))

    del place.shell.environ["ENGRAIN_TOKEN"]
    log_in(place.ada)
    other = with_project(place.http, f"{tmp_path.name}-other")
    code, said = place.interrupted("read x", lambda _: log_in(other))
    assert (code, "Kept as" in said, "logged in as another user" in said) == (0, False, True)
    log_in(place.ada)
    assert place.run("true", source_id="r2")[1].count("Kept as") == 2


@pytest.mark.slow
def test_a_run_that_is_refused_is_set_aside(place: Place, tmp_path: Path) -> None:
    a_project(place.http, place.ada, "Harbour")
    assert place.run("true", project="Harbour")[0] == 0
    code, said = place.run("true")
    assert (code, "already bound to another project" in said) == (0, True)
    (aside,) = tmp_path.rglob("runs/*/*/*.refused")
    assert str(aside) in said
    assert "Error" not in place.run("true", source_id="r2")[1]


@pytest.mark.slow
def test_an_old_run_does_not_replace_a_newer_one(place: Place, tmp_path: Path) -> None:
    kept, back = place.logged_out("echo old; exit 5")
    elsewhere = replace(back, shell=replace(back.shell, home=tmp_path / "elsewhere"))
    elsewhere.shell.home.mkdir()
    assert elsewhere.run("echo", "new")[0] == 0
    code, said = back.run("true", source_id="r2")
    assert (code, "newer run" in said, kept.exists()) == (0, True, False)
    assert evidence(back.http, back.ada, evidence_id="stdout")["content"] == "new\n"


def evidence(http: httpx2.Client, ada: dict[str, Any], **asked: Any) -> dict[str, Any]:
    params = {"source_id": "r1", "observation_id": "run", **asked}
    answer = http.get("/api/memory/experience", params=params, headers=bearer(ada))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
