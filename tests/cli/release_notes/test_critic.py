"""The critic that always runs: what the cited commits do not say is found."""

from dataclasses import replace

import pytest

from cli.release_notes.critic import Claim, Evidence, verified
from cli.release_notes.document.drafting import draft
from cli.release_notes.document.model import Document, Section, Statement
from cli.release_notes.document.presets import PRESETS, PresetName
from cli.release_notes.focus import Focus
from tests.cli.release_notes.making import facts, sha

EVIDENCE = Evidence(facts())
HOLDS = {
    "the message": "Weave patterns with `weave()` from a card",
    "a number": "It needs 3 threads, row by row",
    "a number as a word": "It needs three threads",
    "the project and version": "In looms v1.1.0, `weave` reads a Card",
    "a pull request": "Weaving came with #12",
}
FAILS = {
    "a number": ("It is 40 % faster", "40"),
    "a number as a word": ("It needs seven threads", "seven"),
    "a flag": ("Pass --fast to weave", "--fast"),
    "a name": ("Supports PostgreSQL", "PostgreSQL"),
    "code": ("Call `knit()`", "knit()"),
    "something else": ("The whole interface is rewritten", "something else"),
    "a version": ("Needs version 3.12", "3.12"),
}


def section_of(document: Document, name: str) -> Section:
    return next(section for section in document.sections if section.name == name)


def with_blocks(document: Document, section: Section, *blocks: Statement) -> Document:
    changed = replace(section, blocks=blocks)
    return replace(document, sections=tuple(changed if each is section else each for each in document.sections))


@pytest.mark.parametrize("text", HOLDS.values(), ids=HOLDS)
def test_what_the_commits_say_holds(text: str) -> None:
    assert EVIDENCE.problem(Claim("x", text, (sha(1),))) is None


@pytest.mark.parametrize(("text", "missing"), FAILS.values(), ids=FAILS)
def test_a_number_or_name_that_no_cited_commit_has_is_found(text: str, missing: str) -> None:
    problem = EVIDENCE.problem(Claim("x", text, (sha(1),)))
    assert problem is not None
    assert missing in problem


def test_a_claim_without_a_commit_of_the_range_is_none() -> None:
    assert EVIDENCE.problem(Claim("x", "Weave", ())) == "it cites no commit of the range"
    assert EVIDENCE.problem(Claim("x", "Weave", (sha(99),))) == "it cites no commit of the range"


def test_a_statement_that_its_commit_does_not_bear_out_gives_way_to_the_commits_subject() -> None:
    document = draft(facts(), PRESETS[PresetName.DEFAULT], Focus())
    section = section_of(document, "fixes")
    wrong = Statement("s", "Fix 7 holes with `darn()`", (sha(4),), details="More.")
    left, found = verified(with_blocks(document, section, wrong), EVIDENCE)
    (kept,) = section_of(left, "fixes").statements()
    assert (kept.text, kept.details) == ("fix: keep the thread when a card ends early (#15)", "")
    assert [each.outcome for each in found] == ["replaced"]


@pytest.mark.parametrize("preset", PresetName)
def test_a_draft_needs_no_correction(preset: PresetName) -> None:
    document = draft(facts(), PRESETS[preset], Focus())
    assert verified(document, EVIDENCE) == (document, [])
