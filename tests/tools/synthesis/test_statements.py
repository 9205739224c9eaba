"""Statements about sources, and gaps: pure functions, without a store."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.synthesis.models import PlanRequest
from tools.synthesis.outline import Pack, Section, Source, run_id, sections_of, title_of
from tools.synthesis.statements import Told, drafted_gaps, planned_gaps, tell
from tools.synthesis.templates import EXTENTS
from tools.synthesis.writing import markdown
from tools.synthesis.writing import payload as as_payload
from tools.text.inline import inert

STANDARD = EXTENTS["standard"]
WHEN = datetime(2026, 6, 15, tzinfo=UTC)


def source(name: str, text: str, **fields: object) -> Source:
    given_fields = {"id": f"note_{abs(hash(name)) % 10**12:012d}", "type": "note", "score": 0.5, "document": None,
                    "origin": "graph", "facet": "recent_memory", "status": "", "changed_at": WHEN,
                    "visibility": "organization"}  # fmt: skip
    return Source(name=name, text=text, **{**given_fields, **fields})  # type: ignore[arg-type]


def section(title: str = "Overview", query: str = "seat holds", **fields: object) -> Section:
    return Section(f"section:01-{title.lower()}", title, "", query, ("recent_memory",), **fields)  # type: ignore[arg-type]


def said(text: str, name: str = "A name of its own", query: str = "seat holds") -> str:
    (told,) = tell([Pack(section(query=query), (source(name, text),))], STANDARD)
    return told.statements[0].text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A hold lasts 15 minutes. Nobody may extend it.", "A hold lasts 15 minutes. Nobody may extend it."),
        (
            "# Heading\n\nA hold lasts for 15 minutes, and for these 15 minutes nobody else\ngets the seat at all.",
            "A hold lasts for 15 minutes, and for these 15 minutes nobody else gets the seat at all.",
        ),
        ("- first point here\n- second point here", "first point here. second point here."),
        ("1. Ask the provider. 2. Charge the card.", "1. Ask the provider. 2. Charge the card."),
        ("1. Ask the provider.\n2. Charge the card.", "1. Ask the provider. 2. Charge the card."),
        ("```\ncode here too\n```\nWhat the code does here.", "What the code does here."),
        ("> Quoted words of somebody.", "Quoted words of somebody."),
        ("", ""),
    ],
    ids=repr,
)
def test_layout_is_taken_off_and_words_are_kept(text: str, expected: str) -> None:
    assert said(text) == expected


def test_of_a_long_text_the_part_that_is_looked_for_is_quoted() -> None:
    filler = " ".join(f"The weather of day {number} was fair and the sea was calm all over." for number in range(12))
    text = f"{filler} A seat hold lasts 15 minutes. Then the seat is free."
    assert said(text).startswith("… ")
    assert "A seat hold lasts 15 minutes." in said(text)
    assert len(said(text)) < 450


def test_a_name_that_the_text_begins_with_is_not_repeated() -> None:
    found = source("A hold lasts 15 minutes", "A hold lasts 15 minutes. Nobody may extend it.")
    (told,) = tell([Pack(section(), (found,))], STANDARD)
    assert (told.statements[0].name, told.statements[0].text[:15]) == ("", "A hold lasts 15")


def test_what_came_along_stands_under_what_brought_it() -> None:
    one = source("Holds", "A hold lasts 15 minutes.")
    two = source("Row locks", "They are advisory.", relation="REQUIRES", around=one.id, is_outgoing=False)
    (told,) = tell([Pack(section(), (one, two))], STANDARD)
    assert [each.name for each in told.statements[0].below] == ["Row locks"]
    written = markdown(PlanRequest(goal="g"), [told], verification_of(told))
    assert f"  - **Row locks** (requires this): They are advisory. [{two.id}]" in written


def verification_of(told: Told):  # type: ignore[no-untyped-def]
    from tools.synthesis.statements import verification

    return verification([told.pack], drafted_gaps(told), is_drafted=True)


def test_gaps_say_why() -> None:
    empty = Pack(section(), ())
    assert [gap.reason for gap in planned_gaps(empty)] == ["no_materialized_sources"]
    asked = Pack(section(is_requested=True), (), missing=("x",))
    assert [gap.reason for gap in planned_gaps(asked)] == [
        "required_source_ids_not_found", "no_source_supports_requested_section"
    ]  # fmt: skip
    silent = Told(Pack(section(), (source("Secret", "", is_redacted=True, changed_at=None),), claims=("Who pays",)))
    gaps = drafted_gaps(silent)
    assert [gap.reason for gap in gaps] == ["no_citable_sources", "missing_freshness_metadata", "unresolved_claim"]
    assert gaps[1].query == silent.pack.source_ids[0]
    assert gaps[2].query == "Who pays"


def test_titles_and_runs_are_named_by_what_is_asked() -> None:
    request = PlanRequest(goal="how seats are\nheld.")
    assert title_of(request) == "How seats are held"
    assert run_id(request) == run_id(PlanRequest(goal="how seats are\nheld.", entity_ids=[]))
    assert run_id(request) != run_id(PlanRequest(goal="how seats are held"))
    wanted = PlanRequest.model_validate({"goal": "g", "required_sections": [{"title": "Ünïcode / X!"}, {"title": "→"}]})
    assert [each.id for each in sections_of(wanted)] == ["section:01-n-code-x", "section:02-section"]


hostile = st.text(alphabet=st.sampled_from("#*_[]()<>!`~|\\\n -1.&@:/aé“€\u202e\x1b"), max_size=60)


@given(name=hostile, text=hostile, goal=hostile)
def test_a_document_has_the_lines_that_it_was_given_whatever_others_wrote(name: str, text: str, goal: str) -> None:
    request = PlanRequest.model_construct(
        goal=goal or "g", output_type="report", audience=goal, constraints=[text or "c"], depth="standard"
    )
    (told,) = tell([Pack(section(title=name or "t"), (source(name or "n", text),), claims=(text,))], STANDARD)
    written = markdown(request, [told], verification_of(told))
    lines = written.split("\n")
    assert sum(line.startswith("#") for line in lines) == 5
    assert sum(line.startswith("## ") for line in lines) == 4
    assert "\x1b" not in written
    assert "\u202e" not in written
    assert as_payload("r", request, [told], verification_of(told))["sections"]
    assert inert(name).count("\n") == 0
