"""What an arm makes of answers that a part of the search had no say in."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evals.client import Client
from evals.datasets import Aim, Collection, Question, Text
from evals.harness.arms import ARMS
from stores.errors import EngrainError

COLLECTION = cast("Collection", SimpleNamespace(door="recall", entity_type="note"))


class Opening:
    took_ms = 1.0

    def __init__(self, faulty: float) -> None:
        self.left = faulty

    def post(self, path: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
        self.left -= 1
        is_faulty = self.left >= 0
        hits = [{"id": "words" if is_faulty else "all", "score": 0.5, "raw_content": "", "content": ""}]
        if path.endswith("/recall"):
            return {"memories": hits, "degraded": {"vectors": "index_unavailable"} if is_faulty else {}}
        failures = [{"source": "vector", "error_type": "index_unavailable"}] if is_faulty else []
        details = {hits[0]["id"]: {"ranks": {"vector": 1, "lexical": 1}}}
        page = {
            "results": hits, "has_more": False,
            "filters": {"search_source_failures": failures, "graph_retrieval": {"source_details": details}},
        }  # fmt: skip
        return {"evidence": page} if path.endswith("/pack") else page

    def tool(self, _: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.post("/api/search", arguments)


def ask(arm: str, faulty: float) -> tuple[str, ...]:
    client = cast("Client", Opening(faulty))
    return ARMS[arm].ask(client, COLLECTION, Question("q", "", "who?", {})).ids


@pytest.mark.parametrize("arm", ["fast", "mcp", "naive", "dense"])
def test_an_answer_without_a_part_of_the_search_is_asked_for_again(arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.harness.arms._AGAIN_S", 0.0)
    assert ask(arm, 2) == ("all",)
    monkeypatch.setattr("evals.harness.arms.FAULTY_S", 0.0)
    with pytest.raises(EngrainError, match=r"without a part of its search: vectors? \(index_unavailable\)"):
        ask(arm, float("inf"))


def test_first256_ranks_the_texts_of_a_haystack_by_their_beginnings() -> None:
    trains = "Trains leave for the coast every hour. " * 40
    texts = (
        Text("trains", "a", trains), Text("late", "a", f"{trains} A kitten naps on the couch."),
        Text("kitten", "a", "A kitten naps on the couch."), Text("other", "b", "Where does the cat sleep?"),
    )  # fmt: skip
    pets = Collection("pets", "turn", "recall", texts, (), Aim("recall@10"))
    answer = ARMS["first256"].ask(cast("Client", None), pets, Question("q", "a", "Where does the cat sleep?", {}))
    # Nothing after the 256th token counts, and equals keep their order.
    assert answer.ids == ("kitten", "trains", "late")
    assert answer.texts[0] == "A kitten naps on the couch."
    assert 0.3 < (answer.score or 0) < 1
