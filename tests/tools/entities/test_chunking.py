"""Documents are cut along their headings and paragraphs, and nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from tools.entities.chunking import CHUNK_LIMIT, chunks, title_of

MARKDOWN = """Intro.

# Guide

First words.

## Install

```
# not a heading
pip install
```

### Deep

Text.

## Use
More.
"""


def test_a_chunk_knows_the_headings_above_it() -> None:
    assert [(piece.chunk_type, piece.heading_path) for piece in chunks(MARKDOWN)] == [
        ("paragraph", ()), ("heading", ("Guide",)), ("heading", ("Guide", "Install")),
        ("heading", ("Guide", "Install", "Deep")), ("heading", ("Guide", "Use")),
    ]  # fmt: skip


def test_a_heading_without_text_opens_the_next_section() -> None:
    pieces = chunks("# Guide\n\n## Use\n\nWords.\n\n## Later\n")
    assert [(piece.content, piece.heading_path) for piece in pieces] == [
        ("# Guide\n\n## Use\n\nWords.", ("Guide", "Use")),
        ("## Later", ("Guide", "Later")),
    ]


def test_restructured_headings_are_levels_in_order_of_appearance() -> None:
    text = "Title\n=====\n\nOne\n---\n\na\n\nTwo\n---\n\nb\n"
    assert [piece.heading_path for piece in chunks(text)] == [("Title", "One"), ("Title", "Two")]
    assert title_of(text) == "Title"


def test_a_long_section_is_cut_between_sentences() -> None:
    text = "# Long\n\n" + "This is a sentence of some length. " * 200
    pieces = chunks(text)
    assert len(pieces) > 3
    assert all(len(piece.content) <= CHUNK_LIMIT for piece in pieces)
    assert all(piece.content.endswith(".") for piece in pieces)
    assert [piece.chunk_type for piece in pieces[:2]] == ["heading", "paragraph"]


@given(st.text(max_size=3000), st.integers(10, 400))
def test_every_visible_character_is_in_some_chunk(text: str, limit: int) -> None:
    kept = "".join("".join(piece.content.split()) for piece in chunks(text, limit=limit))
    assert kept == "".join(text.split())
    assert all(len(piece.content) <= limit for piece in chunks(text, limit=limit))
