"""Deleting a memory: its words are in no file of the data folder."""

from functools import partial
from pathlib import Path

import anyio
import pytest

import tools.app
from tests.people import Person, caught_up
from tools.app import App
from tools.jobs.runner import jobs_running

pytestmark = pytest.mark.anyio

MARKER = "Zyxquorvath"


def holding(folder: Path, word: str) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in (word.encode(), word.lower().encode()))
    )


@pytest.fixture(autouse=True)
def _soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes tidy up at once; a server waits for half a minute without writes."""
    monkeypatch.setattr(tools.app, "IndexerOptions", partial(tools.app.IndexerOptions, quiet_s=0.1))


async def test_deleted_words_are_in_no_file(own_app: App, owner: Person) -> None:
    folder = own_app.settings.data_dir
    text = f"The passphrase of the vault is {MARKER} seven."
    kept = await owner.call("remember", title=f"About {MARKER}", content=text, idempotency_key="k1")
    await owner.call("remember", title="Other", content="The vault is in the cellar.")
    await owner.call("reflect", content=f"We decided that {MARKER} opens the vault.", persist_review=True)
    await owner.call("search", query=f"Where is {MARKER}?")
    await caught_up(owner)
    assert holding(folder, MARKER)
    for capture in (await owner.call("list_captures", entity_type="raw_memory"))["captures"]:
        if MARKER in capture["raw_content"]:
            await owner.call("correct_memory", source_id=capture["id"], action="delete")
    done = await owner.call("correct_memory", source_id=kept["raw_memory_id"], action="delete")
    assert done["erasure"] == "pending"
    with anyio.fail_after(60):
        async with jobs_running(own_app):
            while (await owner.call("get_job", job_id=done["erasure_job_id"]))["status"] != "complete":  # noqa: ASYNC110
                await anyio.sleep(0.2)
    assert holding(folder, MARKER) == []
