"""Secrets that a server was given are nowhere in what is kept of a run or said of it."""

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from evals.reports.page import page
from evals.reports.text import markdown
from evals.results import Case, Outcome, Part
from evals.runs import Archive, Journal, new_record
from evals.suites import document
from evals.told import told
from stores.errors import EngrainError
from tools.settings import Settings

SECRET = "s3cret-of-a-server-that-nobody-may-read"
CASE = Case("talks", "fast", "turn", "q1", {"recall@10": 1.0})
OIDC = {
    "providers": [
        {"name": "own", "issuer": "https://id.example", "client_id": "c", "client_secret_env": "ENGRAIN_OWN",
         "organization_slug": "o"}
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "JWT_SECRET", "EMBEDDING_API_KEY", "LLM_API_KEY", "SMTP_PASSWORD", "CODEHOST_CLIENT_SECRET",
        "METRICS_SCRAPE_TOKEN", "TOKEN",
    ],
)  # fmt: skip
def test_of_a_secret_is_told_that_it_was_set(name: str) -> None:
    assert told({f"ENGRAIN_{name}": SECRET, "ENGRAIN_PORT": "1"}) == {f"ENGRAIN_{name}": "(set)", "ENGRAIN_PORT": "1"}
    assert told({f"ENGRAIN_{name}": ""}) == {f"ENGRAIN_{name}": ""}


def test_every_setting_that_is_not_shown_elsewhere_is_not_told() -> None:
    hidden = {f"ENGRAIN_{name.upper()}": SECRET for name, field in Settings.model_fields.items() if not field.repr}
    assert hidden
    assert set(told(hidden).values()) == {"(set)"}


def test_passwords_in_addresses_and_secrets_of_providers_are_not_told() -> None:
    given = {
        "ENGRAIN_DATABASE_URL": f"postgresql+psycopg://me:{SECRET}@db:5432/e", "ENGRAIN_OIDC": json.dumps(OIDC),
        "ENGRAIN_OWN": SECRET,
    }  # fmt: skip
    shown = told(given)
    assert shown["ENGRAIN_DATABASE_URL"] == "postgresql+psycopg://(set)@db:5432/e"
    assert (shown["ENGRAIN_OIDC"], shown["ENGRAIN_OWN"]) == (given["ENGRAIN_OIDC"], "(set)")
    assert SECRET not in str(told({**given, "ENGRAIN_OIDC": "{"}))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"postgresql+psycopg://h/x?user=bob&password={SECRET}", "postgresql+psycopg://h/x?user=(set)&password=(set)"),
        (f"postgresql+psycopg://bob:a/{SECRET}@h/x", "postgresql+psycopg://(set)@h/x"),
        (f"postgresql+psycopg://bob:a#{SECRET} ?@h/x", "postgresql+psycopg://(set)@h/x"),
        (f"http://127.0.0.1:9/v1?api_key={SECRET}#x", "http://127.0.0.1:9/v1?api_key=(set)#x"),
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("postgresql://bob@h:5432/x", "postgresql://bob@h:5432/x"),
    ],
)
def test_wherever_a_library_reads_a_secret_from_an_address_it_is_not_told(address: str, shown: str) -> None:
    assert told({"ENGRAIN_EMBEDDING_BASE_URL": address}) == {"ENGRAIN_EMBEDDING_BASE_URL": shown}


def test_no_file_and_no_report_of_a_run_holds_a_secret(tmp_path: Path) -> None:
    record = new_record("retrieval", {"name": ""}, {"server": {"ENGRAIN_JWT_SECRET": SECRET}}, {"talks": "ab"})
    journal = Journal.begin(tmp_path, record)
    stored = Archive(tmp_path).finish(journal, Outcome([CASE], [Part("talks", "fast", "turn", 1, "recall@10")]))
    for text in (markdown(stored), page(stored), json.dumps(document(stored))):
        assert SECRET not in text
        assert "(set)" in text
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    with duckdb.connect(str(tmp_path / "runs.duckdb")) as database:
        assert "(set)" in str(database.execute("SELECT settings FROM runs").fetchall())


def test_no_refusal_holds_a_secret_and_none_of_a_run_that_kept_it(tmp_path: Path) -> None:
    settings = {"concurrency": 1, "server": {"ENGRAIN_JWT_SECRET": SECRET}}
    record = replace(new_record("retrieval", {"name": ""}, {}, {}), settings=settings)
    journal = Journal.begin(tmp_path, record)
    journal.add(CASE)
    journal.close()
    assert SECRET in (journal.folder / "run.json").read_text()
    with pytest.raises(EngrainError, match="otherwise") as refused:
        Journal.begin(tmp_path, new_record("retrieval", {"name": ""}, {**settings, "concurrency": 2}, {}))
    assert SECRET not in refused.value.message
    again = Journal.begin(tmp_path, new_record("retrieval", {"name": ""}, settings, {}))
    assert again.is_resumed
    again.close()
