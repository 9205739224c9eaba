"""Text of others says the same in Markdown, and does nothing."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.text.inline import code, inert
from tools.text.plain import first_sentence, one_line, plain

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HARMLESS = {"text", "code_inline", "text_special"}
PIECES = st.sampled_from(
    [
        *("`", "``", "```", "\\", "*", "**", "_", "__", "[", "]", "(", ")", "](", "![", "<", ">", "</", "<!--", "-->"),
        *("&", "&lt;", "&#64;", "#", "# ", "- ", "+ ", "1. ", "1) ", "> ", "=", "---", "|", "~", "~~", "$", "$$", "!"),
        *("{{", "@", "@ada", "https://evil.example/x", "www.evil.example", "ada@example.org", "javascript:alert(1)"),
        *("\n", "\r\n", "\t", "    ", " ", "a", "word", "a_b", "--flag", "call()", "\x1b[31m", "\x1b]8;;x\x07", "\x00"),
        *(
            "\x07", "\u202e", "\u2066", "\u200b", "\u2028", "\x85", "\ud800", "\U000e0041", "é", "e\u0301", "漢",
            "<script>",
        ),
        *("👩\u200d👩", "[x](y)", "[x]: https://evil.example", ":func:`x`", "[^1]", "\u0301" * 9),
    ]
)  # fmt: skip
HOSTILE = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=12).map("".join)


def tokens(markdown: str) -> list[Token]:
    blocks = MARKDOWN.parse(markdown)
    assert {block.type for block in blocks} <= {"paragraph_open", "inline", "paragraph_close"}, markdown
    return [token for block in blocks for token in block.children or ()]


@given(HOSTILE)
def test_nothing_in_a_line_is_more_than_text_or_code(text: str) -> None:
    found = tokens(inert(text))
    assert {token.type for token in found} <= HARMLESS
    for token in found:
        if token.type != "code_inline":
            assert not re.search(r"@\w|://|www\.\w", token.content), "a renderer would link it"


@given(HOSTILE)
def test_a_line_says_what_the_text_said(text: str) -> None:
    line = one_line(text)
    if re.search(r"\]\(|:`", line):  # links and roles are said otherwise
        return
    shown = "".join(token.content for token in tokens(inert(text)))
    letters = re.compile(r"[\s`]+")
    assert letters.sub("", shown) == letters.sub("", line)


@given(HOSTILE)
def test_a_code_span_holds_exactly_the_line(text: str) -> None:
    found = tokens(code(text))
    line = one_line(text)
    assert [(token.type, token.content) for token in found] == ([("code_inline", line)] if line else [])


@given(HOSTILE)
def test_plain_text_has_no_control_characters_and_nothing_invisible(text: str) -> None:
    for character in plain(text):
        assert character in "\n\u200c\u200d" or unicodedata.category(character)[0] != "C"
    plain(text).encode()


@given(HOSTILE)
def test_what_is_plain_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


SAID = {
    "flag": ("Add --quiet to run", "Add `--quiet` to run"),
    "name": ("Rename max_size, and __init__.", "Rename `max_size`, and `__init__`."),
    "call": ("Call foo.bar(x) twice (see baz())", "Call `foo.bar(x)` twice (see `baz()`)"),
    "path": ("Move src/app.py to lib/", "Move `src/app.py` to lib/"),
    "words with a slash": ("Read and/or write I/O", "Read and/or write I/O"),
    "abbreviation": ("Check types, e.g. lists, in Node.js", "Check types, e.g. lists, in Node.js"),
    "author's backticks": ("Support ``None`` and `a|b`", "Support `None` and `a|b`"),
    "role": ("Fix :func:`anyio.run`", "Fix `anyio.run`"),
    "mention": ("Thanks to @ada!", "Thanks to `@ada`!"),
    "address": ("See https://evil.example/?a=b.", "See `https://evil.example/?a=b`."),
    "link": ("See [the docs](https://evil.example)", "See the docs (`https://evil.example`)"),
    "image": ("![x](https://evil.example/p.png) Hi", "x (`https://evil.example/p.png`) Hi"),
    "tag": ("Use <script>alert(1)</script> now", "Use `<script>alert(1)</script>` now"),
    "generic": ("Return List<String> there", "Return `List<String>` there"),
    "arrow": ("Map a -> b, x => y", "Map a -> b, x => y"),
    "emphasis": ("Some *bold* words", "Some \\*bold\\* words"),
    "heading": ("# Heading", "\\# Heading"),
    "number": ("1. First", "1\\. First"),
    "year": ("2026 is here", "2026 is here"),
    "unbalanced": ("Fix `broken", "Fix \\`broken"),
    "money": ("Costs $HOME and $5", "Costs `$HOME` and `$5`"),
    "issue": ("Close #12", "Close #12"),
}


@pytest.mark.parametrize(("text", "markdown"), SAID.values(), ids=SAID)
def test_what_looks_like_code_is_set_as_code(text: str, markdown: str) -> None:
    assert inert(text) == markdown


def test_a_long_line_is_cut_at_a_word_and_never_within_code() -> None:
    assert one_line("some words that go on and on", 13) == "some words…"
    assert one_line("use `a very long span of code` here", 20) == "use…"


def test_escape_sequences_go_with_what_they_carry() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]0;name\x07plain \x1b]8;;https://evil.example\x1b\\link") == "red plain link"


def test_a_first_sentence_ends_where_one_does() -> None:
    assert first_sentence("Read e.g. a list. It is long.") == "Read e.g. a list."
    assert first_sentence("Version 1.2 is out. More.") == "Version 1.2 is out."
    assert first_sentence("No end") == "No end"
