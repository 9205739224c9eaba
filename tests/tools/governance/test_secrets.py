"""Credentials in writes: named by default, replaced or refused by setting, never altered silently."""

from dataclasses import replace
from typing import Any

import pytest

from stores.errors import ValidationFailed
from tests.people import Person

pytestmark = pytest.mark.anyio

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0"
TEXT = f"Deploy with {KEY} until Friday."


def under(policy: str, who: Person) -> Person:
    settings = who.app.settings.model_copy(update={"secrets": policy})
    return replace(who, app=replace(who.app, settings=settings))


async def test_a_credential_is_kept_and_named(owner: Person) -> None:
    kept = await owner.call("remember", title="Deploys", content=TEXT, idempotency_key="once")
    assert "credential is kept in content" in kept["warnings"][0]
    assert (await owner.call("get_capture", capture_id=kept["raw_memory_id"]))["raw_content"] == TEXT
    plain = await owner.call("remember", title="Tokens", content="Each token model costs a second; keys are sorted.")
    assert "warnings" not in plain


@pytest.mark.parametrize(
    ("operation", "fields", "place"),
    [
        ("add", {"title": "x", "content": "", "metadata": {"db": {"password": "hunter2x"}}}, "metadata.db.password"),
        ("bulk_create_entities", {"entities": [{"name": "x", "content": TEXT}]}, "entities.0.content"),
        ("store_raw_memory", {"raw_content": TEXT}, "raw_content"),
    ],
)
async def test_redaction_and_refusal_name_the_place(
    owner: Person, operation: str, fields: dict[str, Any], place: str
) -> None:
    refused = await under("refuse", owner).refused(operation, ValidationFailed, **fields)
    assert refused.details["fields"] == [place]
    done = await under("redact", owner).call(operation, **fields)
    assert place in done["warnings"][0]
    listed = str((await owner.call("list_entities"))["entities"]) + str((await owner.call("list_captures"))["captures"])
    assert KEY not in listed
    assert "hunter2x" not in listed
    assert "[redacted]" in listed
