"""What an index does without a step of the analysis: wherever text becomes terms, it becomes the same ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.lexical import Analysis, LexicalIndex, Step
from stores.lexical.schema import LENGTHS, to_document
from tests.stores.lexical.test_index import EVERYONE, batch, filled, find, ids, record
from tools.retrieval.passages import best_passage, divided


def without(*steps: Step) -> Analysis:
    return Analysis(frozenset(steps))


@pytest.fixture
def unstemmed(tmp_path: Path) -> Iterator[LexicalIndex]:
    index = LexicalIndex.open(tmp_path / "lexical", without("stems"))
    yield index
    index.close()


def test_words_and_phrases_are_as_they_are_written(unstemmed: LexicalIndex) -> None:
    filled(unstemmed, one="The pools were exhausted.", other="An exhausted pool.")
    assert find(unstemmed, "pool") == ["other"]
    assert find(unstemmed, '"exhausted pool"') == ["other"]
    assert find(unstemmed, '"exhausted pools"') == []


def test_what_the_index_does_not_hold_is_weighed_by_the_same_words(unstemmed: LexicalIndex) -> None:
    filled(unstemmed, held="A pool.")
    then = [record("one", "Two pools."), record("other", "The pool, once more.")]
    assert ids(unstemmed.weigh("pool", then, visibility=EVERYONE.visibility, limit=9)) == ["other"]


def test_what_is_written_anew_stays_as_it_was(unstemmed: LexicalIndex) -> None:
    filled(unstemmed, one="Two pools.", other="One pool.", gone="A kestrel.")
    unstemmed.apply(batch(2, deleted=("gone",)))
    unstemmed.compact()
    assert unstemmed.erasable == 0
    assert find(unstemmed, "pool") == ["other"]


def test_names_in_code_stay_whole_where_nothing_is_split() -> None:
    text = "parse_http_header(parseHTTPHeader)"
    assert without("splits", "stems").analyse(text) == ["parse_http_header", "parsehttpheader"]
    whole, unsplit = (
        to_document(record("a", text), None, analysis).get_first(LENGTHS["text"])
        for analysis in (Analysis(), without("splits"))
    )
    assert (whole, unsplit) == (6, 2)


def test_nothing_is_kept_to_the_letter_where_that_is_left_out() -> None:
    document = to_document(record("a", "self.add_node of TikTok"), None, without("exact"))
    assert (document.get_first("exact"), document.get_first(LENGTHS["exact"])) == ("", 0)


def test_an_unknown_version_is_unknown_where_nothing_is_split(tmp_path: Path) -> None:
    index = LexicalIndex.open(tmp_path / "lexical", without("splits"))
    filled(index, one="Release v3.4.1 is out.")
    unknown = {asked: index.search(asked, filter=EVERYONE, limit=1).unknown for asked in ("v3.4.1", "v2.4.1")}
    assert unknown["v3.4.1"] == 0 < unknown["v2.4.1"]
    index.close()


def test_the_passage_that_is_shown_is_found_by_the_same_words() -> None:
    filler = "Nothing happened here for a long time. " * 30
    text = f"{filler}Two gorillas were climbing. {filler}"
    start, end = best_passage(text, divided(text), {"gorillas": 1.0, "climbing": 1.0}, without("stems"))
    assert "gorillas" in text[start:end]
