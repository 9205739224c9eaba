"""Similar records are named with the token model, too: it is made for questions, not for texts."""

from pathlib import Path

import anyio
import pytest

from tests.people import Person
from tools.runtime.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("settings")]

CONTENT = (
    "We deploy the billing service on Mondays before noon. The release manager reads the dashboards for an hour, and "
    "rolls back if more than one request in a thousand fails. Nobody deploys on the last working day of a month."
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, late_interaction=True)


async def _has_tokens(owner: Person, record_id: str) -> None:
    with anyio.fail_after(60):
        while True:
            with owner.app.indexer.indexes(owner.organization_id) as indexes:
                if indexes.vectors and indexes.vectors.tokens and indexes.vectors.tokens.digests([record_id]):
                    return
            await anyio.sleep(0.05)


async def test_a_copy_with_another_title_and_other_words_is_named(owner: Person) -> None:
    first = await owner.call("remember", title="Deploys of billing", content=CONTENT)
    await _has_tokens(owner, first["id"])
    copy = CONTENT.replace("dashboards", "graphs").replace("thousand", "hundred")
    second = await owner.call("remember", title="Note of Ada", content=copy)
    assert [each["id"] for each in second["conflicts"]] == [first["id"]]
    other = await owner.call("remember", title="Cats", content="Cats sleep sixteen hours a day and hate closed doors.")
    assert other["conflicts"] == []
