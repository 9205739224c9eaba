"""What somebody else keeps private does not move a score, however many and however long their texts are."""

import pytest

from tests.security.harness import World

pytestmark = pytest.mark.anyio

NOTES = (
    "The otter swims upstream in April.", "Kestrels hover over the meadow before rain.",
    "We brew tea at four, never at five.", "The river rises when snow melts upstream.",
    "A meadow is mown in June and in August.",
)  # fmt: skip
QUESTIONS = (
    "otter upstream xylograph", "when do kestrels hover", "tea xylograph Foo_Bar-7", '"snow melts" meadow',
    "upstream", "note-3",
)  # fmt: skip


@pytest.mark.parametrize("hidden", ["Upstream, meadow, Foo_Bar-7.", "A xylograph of tea and a meadow. " * 40])
async def test_what_others_keep_private_changes_no_answer(world: World, hidden: str) -> None:
    ada = await world.person("member")
    bob = await world.person("member", of=ada, role="member")

    async def write(name: str, content: str, scope: str) -> None:
        note = {"name": name, "content": content, "entity_type": "note", "metadata": {"memory_scope": scope}}
        said = {"title": name, "raw_content": content, "memory_scope": scope}
        for path, body in (("entities", note), ("memory/raw", said)):
            written = await world.post(f"/api/{path}?sync=true", body, ada.token)
            assert written.is_success, written.text

    async def ask() -> list[list[tuple[str, object]]]:
        paths = {"search": "results", "memory/raw/recall": "memories"}
        return [await found(*each, question) for each in paths.items() for question in QUESTIONS]

    async def found(path: str, hits: str, question: str) -> list[tuple[str, object]]:
        answer = await world.post(f"/api/{path}", {"query": question, "limit": 10}, bob.token)
        assert answer.status_code == 200, answer.text
        return [(hit["id"], pytest.approx(hit["score"], abs=1e-5)) for hit in answer.json()[hits]]

    for place, text in enumerate(NOTES):
        await write(f"note-{place}", text, "organization")
    before = await ask()
    assert sum(map(bool, before)) >= len(QUESTIONS)
    for place in range(12):
        await write(f"mine-{place}", hidden, "private")
    assert await ask() == before
