"""Passages to show: cut without a model, so that a long text costs a read next to nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.lexical import distinct
from tools.retrieval.passages import PASSAGE_CHARACTERS, best_passage, divided, roots_of

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
    start, end = best_passage(text, divided(text), roots_of(dict.fromkeys(distinct(question), 1.0)))
    assert said in text[max(0, start - 80) : end + 80]
    assert distinct(text[start:end]) & distinct(question)
