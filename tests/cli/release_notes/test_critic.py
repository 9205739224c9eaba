"""The critic that always runs: what the cited commits do not say is found."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.release_notes.critic import Claim, Evidence, checked, verified
from cli.release_notes.document.drafting import draft
from cli.release_notes.document.model import Document, Section, Statement
from cli.release_notes.document.presets import PRESETS, PresetName
from cli.release_notes.focus import Focus
from tests.cli.release_notes.making import facts, sha

EVIDENCE = Evidence(facts())
HOLDS = {
    "the message": "Weave patterns with `weave()` from a card",
    "other words": "Cards can be turned into cloth",
    "a number": "It needs 3 threads, row by row",
    "a number as a word": "It needs three threads",
    "the project and version": "In looms v1.1.0, `weave` reads a Card",
    "a pull request": "Weaving came with #12",
    "German nouns": "Ein Muster wird jetzt von einer Karte gewebt, mit der Funktion `weave()` und 3 Fäden",
    "a signature of the diff": "`looms.weave(card)` takes `threads`",
}
FAILS = {
    "a number": ("It is 40 % faster", "40"),
    "a number as a word": ("It needs seven threads", "seven"),
    "a flag": ("Pass --fast to weave", "--fast"),
    "a name": ("Supports PostgreSQL", "PostgreSQL"),
    "a name within": ("Weaving now uses Redis", "Redis"),
    "code": ("Call `knit()`", "knit()"),
    "snake case": ("Set max_threads", "max_threads"),
    "a name in German": ("Ein Muster wird jetzt mit der PostgreSQL gewebt", "PostgreSQL"),
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


def test_a_backtick_without_its_other_joins_no_text_to_its_details() -> None:
    made = draft(facts(), PRESETS[PresetName.DEFAULT], Focus())
    odd = Statement("x", "Weave patterns` from a card", (sha(1),), details="A pattern is read `from a card")
    kept, findings = verified(with_blocks(made, section_of(made, "features"), odd), EVIDENCE)
    assert findings == []
    assert [*section_of(kept, "features").statements()] == [odd]


def test_what_another_commit_says_does_not_count() -> None:
    claim = Claim("x", "Wind bobbins twice as fast", (sha(3),))
    held, found = checked([claim, replace(claim, id="y", text="`--shuttle` is gone")], EVIDENCE)
    assert held == [claim]
    assert [(each.id, each.outcome) for each in found] == [("y", "replaced")]


def test_a_claim_without_a_commit_of_the_range_is_none() -> None:
    assert EVIDENCE.problem(Claim("x", "Weave", ())) == "it cites no commit of the range"
    assert EVIDENCE.problem(Claim("x", "Weave", (sha(99),))) == "it cites no commit of the range"


@given(st.lists(st.sampled_from([sha(number) for number in range(-3, 12)]), max_size=4).map(tuple))
def test_a_document_keeps_citations_of_the_range_alone(commits: tuple[str, ...]) -> None:
    known = facts()
    document = draft(known, PRESETS[PresetName.DEFAULT], Focus())
    section = section_of(document, "features")
    changed = with_blocks(document, section, Statement("s", "Weave", commits))
    left, found = verified(changed, EVIDENCE)
    wanted = tuple(dict.fromkeys(each for each in commits if each in known.commits))
    assert [each.commits for each in section_of(left, "features").statements()] == ([wanted] if wanted else [])
    assert bool(found) == (wanted != commits or not wanted)


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


@pytest.mark.parametrize("preset", PresetName)
def test_what_is_counted_is_no_claim_of_messages(preset: PresetName) -> None:
    silent = tuple(
        replace(each, breaking=True, breaking_note=None, migration=None, commits=tuple({*each.commits, sha(8)}))
        for each in facts().changes[:7]
    )
    gone = tuple(replace(facts().surface[1], name=f"--flag{number}") for number in range(40, 71))
    known = facts(
        changes=silent,
        surface=(*gone, *(replace(each, kind="migration", change="added", path=each.name) for each in gone)),
        dependencies=(replace(facts().dependencies[0], ecosystem="runtime", after="77"),),
        reverted=silent[:5],
    )
    document = draft(known, PRESETS[preset], Focus())
    assert "for the 7 breaking changes" in " ".join(each.text for each in document.statements())
    assert verified(document, Evidence(known)) == (document, [])
