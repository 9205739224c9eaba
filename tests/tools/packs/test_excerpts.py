"""Texts are cut at the ends of sentences and lines, and never grow."""

from hypothesis import given
from hypothesis import strategies as st

from tools.packs.markdown import excerpt, excerpt_around

TEXT = "The sweeper runs at night. It frees what e.g. Kostas left. Nobody else does that, and nobody should."


def test_a_text_is_cut_after_a_whole_sentence() -> None:
    assert excerpt(TEXT, 1000) == TEXT
    assert excerpt(TEXT, 70) == "The sweeper runs at night. It frees what e.g. Kostas left. …"
    assert excerpt("- one\n- two\n- three and a half", 16) == "- one\n- two …"


@given(st.text(st.sampled_from("ab. \n!?…“”`*#>-"), max_size=300), st.integers(2, 200), st.integers(0, 300))
def test_no_excerpt_is_longer_than_asked(text: str, limit: int, start: int) -> None:
    cut = excerpt(text, limit)
    assert len(cut) <= limit
    assert cut == text.strip() or cut.endswith("…")
    assert excerpt(text, limit) == cut
    assert len(excerpt_around(text, min(start, len(text)), max(limit, 10))) <= max(limit, 10)
