"""Passages to show: cut without a model, so that a long text costs a read next to nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.embedding.wordpiece import WordPieceTokenizer
from stores.lexical import distinct
from tests.people import Person, person
from tools.app import open_app
from tools.retrieval import passages
from tools.retrieval.passages import PASSAGE_CHARACTERS, READ_CLOSELY, best_passage, divided
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

PLAIN = "Nothing of note happened on the quay, and the tide went out again. "


@given(st.text(alphabet="ab .\nß\u0301", max_size=300).map(lambda text: text * 20))
def test_the_parts_of_a_text_are_all_of_it_and_of_a_bounded_length(text: str) -> None:
    spans = divided(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= PASSAGE_CHARACTERS for start, end in spans) or not text


def test_a_part_ends_with_its_sentence() -> None:
    text = PLAIN * 100
    assert all(text[start:end].endswith("again. ") for start, end in divided(text)[:-1])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("happy walruses", "The walrus was happiest there."),
        ("éclair recipe", "Two Eclairs were eaten."),
        ("eclair recipe", "Two E\u0301clairs were eaten."),
        ("maxRetries", "Then max retries was raised."),
        ("src/valve.py", "See SRC/valve.py for it."),
        ("東京の天気", "昨日の東京は雨だった。"),
        ("Straße", "The STRASSE was closed."),
        ("haemoglobin", "The haemoglobin was low."),
        ("hemoglobin", "The hæmoglobin was low."),
        ("centre", "It is in the centre of town."),
        ("center", "The town is centred on it."),
        ("gray artifacts", "Grey artefacts were found."),
        ("skeptical analysis", "A sceptic analysed it."),
        ("licensing", "The licence ran out."),
        ("sulfate", "Sulphates were washed out."),
        ("programme", "The programmer left."),
        ("Caesar", "A cipher of Caesar was used."),
    ],
)
def test_the_best_of_many_is_the_one_that_holds_the_words(question: str, said: str) -> None:
    text = f"{PLAIN * 400}{said} {PLAIN * 400}"
    start, end = best_passage(text, divided(text), dict.fromkeys(distinct(question), 1.0))
    assert said in text[max(0, start - 80) : end + 80]
    assert distinct(text[start:end]) & distinct(question)


def test_of_many_passages_a_few_are_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(text: str) -> set[str]:
        read.append(text)
        return distinct(text)

    monkeypatch.setattr(passages, "distinct", counted)
    text = PLAIN * 7_000
    best_passage(text, divided(text), {"quay": 2.0, "tide": 1.0})
    assert len(read) == READ_CLOSELY


@pytest.mark.anyio
async def test_a_recall_of_a_long_memory_without_vectors_asks_no_tokenizer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: WordPieceTokenizer, text: str) -> None:
        raise AssertionError(f"{len(text)} characters are divided for a read.")

    async with open_app(settings.model_copy(update={"embedding_provider": "none"}), logs=LogRing()) as app:
        who: Person = await person(app, "owner")
        long = PLAIN * 3_000 + "Only the zanzibarquux valve was replaced. " + PLAIN * 3_000
        kept = await who.call("store_raw_memory", raw_content=long, sync=True)
        monkeypatch.setattr(WordPieceTokenizer, "pieces", refuse)
        (found,) = (await who.call("recall", query="zanzibarquux valve"))["memories"]
    assert found["id"] == kept["id"]
    assert "zanzibarquux" in found["passage"]["text"]
