"""The document of the real catalogue, held against the behaviour of the server."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import jsonschema_rs
import pytest

from rest_bridge.openapi import build_document, render_page
from tools.catalogue import OPERATIONS
from tools.runtime.health import OPERATIONS as HEALTH
from tools.runtime.launch import ServerProcess, server_process

ACCOUNT = {"email": "ada@example.org", "password": "long enough to keep", "name": "Ada"}


def test_the_document_of_the_catalogue_is_sound() -> None:
    document = build_document((*HEALTH, *OPERATIONS), version="1", server=None)
    routed = {operation.name for operation in OPERATIONS if operation.route}
    described = {each["operationId"] for item in document["paths"].values() for each in item.values()}
    assert routed <= described
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    page = render_page(document)
    assert all(f'id="{name}"' in page for name in described)
    # It loads and runs nothing.
    assert not re.search(r"<(script|style|link|img)|https?://", page)


def test_descriptions_on_the_page_are_text_and_not_markup() -> None:
    operation = {"operationId": "x", "summary": "Say <script>alert(1)</script> & more"}
    info = {"title": "Engrain", "version": "1", "description": "<b>"}
    page = render_page({"info": info, "paths": {"/a": {"get": operation}}})
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    assert "<b>" not in page


ENDING = ("create_organization", "log_out", "delete_me", "end_session", "refresh")
"""What these do to the session that they are called with is their purpose: each call of them needs one of its own."""


REFUSED = [400, 401, 403, 404, 409, 413, 415, 422, 431]
"""By what a request that violates the document may be refused; 431 where an address does not fit into a head."""


EMPTY = "a change names at least one field that is not null; which one is open"
DATE = "a date is a date of ISO 8601 or a relative value such as 7d, which no format of JSON Schema describes"
MAIL = "an address is what mail servers take, which is less than the format e-mail of JSON Schema allows"
GIVEN_OUT = "a code, token or password must be one that was given out before"
NEEDS = "what one field holds makes another one required"
KNOWN = "an id must name somebody or something that the caller can read"

REFUSES_VALID_DATA = {
    "accept_invitation": GIVEN_OUT, "add_relation": DATE, "add_team_member": KNOWN, "bulk_relations": DATE,
    "change_password": GIVEN_OUT, "crawl_source": "an address is http or https, and its source has one name",
    "confirm_reset": GIVEN_OUT, "create_api_key": KNOWN, "decide_review": NEEDS,
    "device_token": GIVEN_OUT,
    "end_relation": DATE, "create_memory_space": NEEDS, "explore": NEEDS,
    "export_records": GIVEN_OUT, "export_audit": DATE, "get_entity": DATE,
    "keep_import_records": "what another server exported is checked as the record that it is",
    "ingest_documents": NEEDS, "invite": MAIL, "log_in": GIVEN_OUT,
    "memory_audit": "an action begins with memory., and another one is refused by a code of its own",
    "preview_memory_space_access": KNOWN,
    "read_audit": DATE, "recall": NEEDS,
    "record_experience": "ids of steps are distinct, and the project is required though its schema is nullable",
    "reflect": "ids are texts that are not empty, also where one text names several", "remember": NEEDS,
    "search": f"{DATE}; {NEEDS}", "sign_up": f"{MAIL}; {GIVEN_OUT}", "start_import": "formats are listed by the server",
    "store_raw_memory": f"{DATE}; {NEEDS}", "sync_source": "a source was crawled by the server",
    "synthesis_draft": NEEDS, "start_device": "a client's name is made of characters that can be seen",
    "temporal": DATE, "update_entity": EMPTY, "update_me": EMPTY, "update_memory_space": EMPTY,
    "update_organization": EMPTY, "update_profile": EMPTY, "update_team": EMPTY,
}  # fmt: skip
"""Operations that may refuse what fits the document, each with the reason why no schema can say it."""


def test_what_may_refuse_valid_data_is_in_the_catalogue() -> None:
    assert set(REFUSES_VALID_DATA) <= {operation.name for operation in OPERATIONS if operation.route}


ACCEPTS_MORE = {
    "synthesis_plan": "null, which agents send for a list that they leave out",
    "synthesis_draft": "null, which agents send for a list that they leave out",
}
"""Operations that take what their document does not name, and what."""


def fuzz_settings() -> str:
    excused = "".join(
        f"[[operations]]\ninclude-operation-id = '{name}'\nchecks.positive_data_acceptance.enabled = false\n"
        for name in REFUSES_VALID_DATA
    )
    excused += "".join(
        f"[[operations]]\ninclude-operation-id = '{name}'\nchecks.negative_data_rejection.enabled = false\n"
        for name in ACCEPTS_MORE
    )
    return (
        f"checks.negative_data_rejection.expected-statuses = {REFUSED}\n"
        # U+0000 is refused everywhere, which tests/tools/frame/test_parsing.py holds.
        f"generation.allow-x00 = false\n{excused}"
    )


def fuzz(server: ServerProcess, folder: Path, *options: str, hooks: str = "") -> None:
    environ = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environ |= {"SCHEMATHESIS_HOOKS": hooks, "FUZZED_SERVER": server.address} if hooks else {}
    (folder / "schemathesis.toml").write_text(fuzz_settings())
    found = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.address}/api/openapi.json"),
            # All checks are on; naming them here would win over what is excused.
            *("--phases", "coverage,fuzzing", "--seed", "7", "--no-color", *options),
            # A busy machine is no fault of the document.
            *("--suppress-health-check", "too_slow"),
        ],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    failures = found.stdout.partition("= FAILURES")[2].partition("= WARNINGS")[0]
    assert found.returncode == 0, (failures or found.stdout)[:6000] + found.stderr[-2000:]


@pytest.fixture
def fuzzed(tmp_path: Path) -> Iterator[ServerProcess]:
    environ = {
        "ENGRAIN_EMBEDDING_PROVIDER": "none", "ENGRAIN_RATE_LIMIT_ENABLED": "false", "ENGRAIN_LOG_LEVEL": "error",
    }  # fmt: skip
    with server_process(tmp_path / "data", environ=environ) as server:
        yield server


@pytest.mark.slow
def test_schemathesis_finds_no_difference_from_the_document(fuzzed: ServerProcess, tmp_path: Path) -> None:
    signed_up = httpx2.post(f"{fuzzed.address}/api/auth/local/signup", json=ACCOUNT, trust_env=False)
    bearer = f"Bearer {signed_up.json()['access_token']}"
    fuzz(
        *(fuzzed, tmp_path, "--header", f"Authorization: {bearer}"),
        *("--exclude-operation-id-regex", f"^({'|'.join(ENDING)})$", "--max-examples", "3"),
    )
    still = httpx2.get(f"{fuzzed.address}/api/auth/me", headers={"Authorization": bearer}, trust_env=False)
    assert still.status_code == 200, "a call ended the session, and the rest was fuzzed without one"


@pytest.mark.slow
def test_schemathesis_finds_no_difference_where_a_call_ends_its_session(fuzzed: ServerProcess, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("fresh_sessions.py"), tmp_path)
    options = ("--include-operation-id-regex", f"^({'|'.join(ENDING)})$", "--max-examples", "3")
    fuzz(fuzzed, tmp_path, *options, hooks="fresh_sessions")
    with closing(sqlite3.connect(tmp_path / "data" / "ledger.sqlite")) as ledger:
        done = {action for (action,) in ledger.execute("SELECT DISTINCT action FROM audit_entries")}
    assert {"organization.create", "session.end", "user.delete"} <= done
