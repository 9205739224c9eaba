"""Splitting: complete, in order, within the limit, at natural places, fast."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores.embedding import Passage, split_passages
from stores.embedding.shipped import PASSAGE_TOKENS, load_tokenizer

TOKENIZER = load_tokenizer()

words = st.sampled_from(
    ["word", "antidisestablishmentarianism", "é", "한국어", "中文", "x" * 150, "don't", "a.b.c", "😀", "\x00"]
)
gaps = st.sampled_from([" ", "\n", "\n\n", ". ", "", "\t", "\u2028"])
texts = st.lists(st.tuples(words, gaps), max_size=80).map(lambda parts: "".join(word + gap for word, gap in parts))


def tokens(text: str) -> int:
    return len(TOKENIZER.tokens(text).spans)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(110, 130))
def test_passages_cover_the_text_in_order_within_the_limit(text: str, limit: int) -> None:
    passages = split_passages(text, TOKENIZER, limit=limit)
    assert "".join(text[passage.start : passage.end] for passage in passages) == text
    assert all(tokens(text[passage.start : passage.end]) <= limit for passage in passages)


@pytest.mark.parametrize("text", ["", "short", "one. two."])
def test_a_short_text_is_one_passage(text: str) -> None:
    assert split_passages(text, TOKENIZER, limit=PASSAGE_TOKENS) == [Passage(0, len(text))]


def test_passages_are_of_about_equal_size() -> None:
    sizes = [p.end - p.start for p in split_passages("word " * 300, TOKENIZER, limit=PASSAGE_TOKENS)]
    assert len(sizes) == 2
    assert max(sizes) <= 1.1 * min(sizes)


@pytest.mark.parametrize(
    ("separator", "lesser"), [("\n\n", ".\n"), (".\n", ". "), (". ", " ")], ids=["paragraph", "line", "sentence"]
)
def test_a_passage_ends_where_the_text_pauses_most(separator: str, lesser: str) -> None:
    per_word = tokens(f"word{lesser}")
    first, rest = (lesser.join(["word"] * (size // per_word)) for size in (160, 140))
    passages = split_passages(first + separator + rest, TOKENIZER, limit=PASSAGE_TOKENS)
    assert [p.start for p in passages] == [0, len(first + separator)]


def test_a_word_is_not_torn() -> None:
    text = " ".join(["internationalization"] * 400)
    for passage in split_passages(text, TOKENIZER, limit=PASSAGE_TOKENS):
        assert set(text[passage.start : passage.end].split()) == {"internationalization"}


def test_a_blob_counts_for_its_length_where_that_is_asked() -> None:
    blob = "QUJD" * 5_000
    assert len(split_passages(blob, TOKENIZER, limit=PASSAGE_TOKENS)) == 1
    passages = split_passages(blob, TOKENIZER, limit=PASSAGE_TOKENS, characters_per_token=4)
    assert max(p.end - p.start for p in passages) <= 4 * PASSAGE_TOKENS
    assert "".join(blob[p.start : p.end] for p in passages) == blob


def test_half_a_million_characters_are_split_at_once() -> None:
    text = "The quick brown fox, running late again, jumps over a lazy dog. " * 7_900
    started = time.process_time()
    passages = split_passages(text, TOKENIZER, limit=PASSAGE_TOKENS)
    assert time.process_time() - started < 10  # a second of work; a quadratic rule would take minutes
    assert passages[-1].end == len(text)
