"""The document: its sections, what each preset makes of them, and what becomes of hostile text."""

import re
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt

from cli.release_notes.configuration import PRESETS, PresetName
from cli.release_notes.facts import Change, ChangeKind, Manifest, ReleaseFacts
from cli.release_notes.notes import read_focus, write_notes
from tests.cli.release_notes.looms import facts
from tests.tools.text.test_inline import HOSTILE

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HEADINGS = [
    "Overview", "Highlights", "What's new", "Breaking changes", "Migration guide", "Installation", "Known issues",
    "Contributors", "Full changelog",
]  # fmt: skip


def notes(
    known: ReleaseFacts | None = None, preset: PresetName = PresetName.DEFAULT, asked: str = "", **changed: Any
) -> str:
    return write_notes(known or facts(**changed), PRESETS[preset], read_focus(asked))


def part(markdown: str, heading: str) -> str:
    found = re.search(rf"^(##+) {re.escape(heading)}\n(.*?)(?=^\1 |^## |\Z)", markdown, re.M | re.S)
    assert found, heading
    return found[2].strip()


@pytest.mark.parametrize("preset", PresetName)
def test_every_section_is_there_in_its_order(preset: PresetName) -> None:
    assert re.findall("^## (.*)", notes(preset=preset), re.M) == HEADINGS


@pytest.mark.parametrize("preset", PresetName)
def test_what_is_listed_or_cut_names_commits_and_what_is_counted_the_range(preset: PresetName) -> None:
    shas = [f"{number:07x}{number:033x}" for number in range(1, 300)]
    kinds: tuple[ChangeKind, ...] = ("feature", "improvement", "fix", "documentation", "internal")
    known = facts(
        commits=dict.fromkeys(shas, next(iter(facts().commits.values()))),
        changes=tuple(
            Change(kinds[number % 5], None, f"change {number}", commits=(each,)) for number, each in enumerate(shas)
        ),
    )
    text = notes(known, preset)
    cited = re.compile(r"/commit/([0-9a-f]{40})")
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(listed) > (10 if preset is PresetName.CONCISE else 170)
    assert [line for line in listed if not set(cited.findall(line)) & set(shas)] == []
    ends = f"{known.older.sha[:7]}..{known.newer.sha[:7]}"
    span = f"[`{ends}`]({known.remote_url}/compare/v1.0.0...v1.1.0)"
    assert f"in 299 commits ({span})" in part(text, "Overview")


def test_instructions_choose_and_order_and_the_document_says_so() -> None:
    asked = notes(asked="Naming first, without fixes")
    assert asked.index("Keep cards from naming") < asked.index("Wind bobbins")
    assert "begin each list with what concerns naming" in asked
    assert "leave out what concerns fixes" in asked
    assert "Keep the thread" not in asked
    plain = notes(asked="without docs and shuttle")
    assert "documentation change" not in plain
    assert "Read the shuttle from a setting" in plain, "what breaks is never left out"
    only = notes(asked="only bobbins")
    assert "brings 1 breaking change, 1 feature, 2 improvements and 1 fix" in only, "what there is stays what there is"
    assert "### Fixes\n\nNone of those that were asked for." in only
    assert "Read the shuttle from a setting" in only
    assert "Nothing" not in notes(asked="kubernetes").split("## Highlights")[0]


@pytest.mark.parametrize("preset", PresetName)
@settings(deadline=None)
@given(text=HOSTILE, more=HOSTILE, name=HOSTILE)
@example(text="", more="", name="` @ada")
def test_hostile_text_adds_no_heading_link_html_or_control_character(
    preset: PresetName, text: str, more: str, name: str
) -> None:
    def headings(markdown: str) -> list[str]:
        blocks = MARKDOWN.parse(markdown)
        return [blocks[n + 1].content for n, block in enumerate(blocks) if block.type == "heading_open"][1:]

    first, *others = facts().changes
    bad = replace(
        first, text=text, scope=name, details=more, breaking=True, breaking_note=more, migration=more,
        pull_request=name, issues=(name,), own=True,
    )  # fmt: skip
    known = facts(
        changes=(bad, *others),
        known_issues=(bad,),
        manifests=(Manifest(name, "npm", text, needs=more), Manifest("x", "pip", name, version=text)),
        contributors=tuple((replace(each, name=name), count) for each, count in facts().contributors),
        project_name=name,
        older=replace(facts().older, ref=name),
        version=text,
        remarks=(more,),
        remote_url=None,
    )
    markdown = notes(known, preset)
    assert headings(markdown) == headings(notes(preset=preset))
    inner = [token for block in MARKDOWN.parse(markdown) for token in (block, *(block.children or ()))]
    links = [token.attrs["href"] for token in inner if token.type == "link_open"]
    assert links == []
    assert not [token for token in inner if token.type == "tr_open"]
    assert all(token.info in ("", "sh") for token in inner if token.type == "fence")
    assert not {"html_block", "html_inline", "image", "s_open"} & {token.type for token in inner}
    assert set(markdown) - set(string.printable) == {
        each for each in markdown if ord(each) > 126 and each.isprintable()
    } | (set(markdown) & {"\u200c", "\u200d"})
    for token in inner:
        if token.type == "text":
            assert not re.search(r"@\w|://|www\.\w", token.content)
