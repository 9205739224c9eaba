"""`engrain capture-run` at a real server, and the redaction of credentials."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.client.conftest import PASSWORD, Shell, bearer, server, signed_up
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
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nok", "[redacted]\nok"),
    ],
)
def test_credentials_are_redacted(text: str, left: str) -> None:
    changed, found = redacted(text)
    assert (changed, len(found)) == (left, left.count("[redacted]"))
    assert redacted(left) == (left, [])


@pytest.mark.parametrize(
    "text",
    [
        "commit 2afa36825295c0ffee2afa36825295c0ffee1234", "3 tokens in 0.2 s", "The secret is out.",
        "The password is not valid.", "its token was revoked", "docker run -u 1000:1000 x", "tool -u https://x.org/y",
        "https://example.org:8420/x", "def test_tokens_are_counted(): ...", "monkey: banana",
    ],
)  # fmt: skip
def test_other_text_stays(text: str) -> None:
    assert redacted(text) == (text, [])


@dataclass
class Place:
    http: httpx2.Client
    ada: dict[str, Any]
    shell: Shell

    def run(self, *command: str, project: str = "Lighthouse", **environ: str) -> tuple[int, str]:
        return self.shell.run("capture-run", "-p", project, "--source-id", "r1", "--", *command, **environ)

    def interrupted(self, script: str, deed: Callable[["subprocess.Popen[str]"], object]) -> tuple[int, str]:
        words = ("-p", "Lighthouse", "--source-id", "r1", "--", "sh", "-c", f"echo begun; {script}")
        with self.shell.start("capture-run", *words) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            deed(process)
            said, _ = process.communicate("\n", timeout=60)
        return process.returncode, said


@pytest.fixture
def place(tmp_path: Path, server: ServerProcess) -> Iterator[Place]:
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        ada = signed_up(http, tmp_path.name)
        body = {"name": "Lighthouse", "entity_type": "project"}
        http.post("/api/entities", json=body, params={"sync": True}, headers=bearer(ada)).raise_for_status()
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
    assert "… 1100011 bytes …" in kept["content"]
    assert evidence(http, ada, evidence_id="stderr")["content"] == "password: [redacted] [redacted]\n"
    assert "hunter2x" not in str(step["action"])
    assert place.run("true")[0] == 0
    assert evidence(http, ada, evidence_id="status")["content"].startswith("exit code 0 after ")
    assert place.interrupted("sleep 60", lambda process: process.terminate())[0] == 143
    assert evidence(http, ada, evidence_id="stdout")["content"] == "begun\n"


@pytest.mark.slow
def test_a_run_that_cannot_be_kept_is_not_begun_or_not_lost(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert place.run("touch", str(mark), project="Nowhere")[0] == 1
    assert place.run("touch", str(mark), ENGRAIN_TOKEN="old")[0] == 3
    assert not mark.exists()
    assert (place.run("no-such-program")[0], place.run(str(tmp_path))[0]) == (127, 126)
    leave = {"headers": bearer(place.ada)}
    code, said = place.interrupted("read x; exit 5", lambda _: place.http.post("/api/auth/logout", **leave))
    assert (code, "the next `engrain capture-run` sends it" in said) == (5, True)
    (kept,) = tmp_path.rglob("runs/*/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    entry = {"email": place.ada["user"]["email"], "password": PASSWORD}
    token = place.http.post("/api/auth/local/login", json=entry).json()["access_token"]
    code, said = place.run("true", ENGRAIN_TOKEN=token)
    assert (code, said.count("Kept as"), kept.exists()) == (0, 2, False)


def evidence(http: httpx2.Client, ada: dict[str, Any], **asked: Any) -> dict[str, Any]:
    params = {"source_id": "r1", "observation_id": "run", **asked}
    answer = http.get("/api/memory/experience", params=params, headers=bearer(ada))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
