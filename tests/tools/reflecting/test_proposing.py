"""What a model proposes is admitted where the notes say it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.reflecting.proposing import MOST_PROPOSALS, Proposal, admit
from tools.reflecting.reflection.finding import KINDS, LABEL_CONFIDENCE

NOTES = "We moved the queue\n  to NATS. Latency fell to 40 ms. Do not use Redis for locks. Latency fell to 40 ms."


def proposed(kind: str, quote: str, confidence: float = 0.7) -> Proposal:
    return Proposal(kind=kind, quote=quote, confidence=confidence)


def test_blanks_and_line_breaks_may_differ() -> None:
    (finding,), _ = admit(NOTES, [proposed("decision", "We moved the queue to NATS.")], limit=5)
    assert finding.content == "We moved the queue\n  to NATS."
    assert NOTES[finding.start : finding.end] == finding.content


DROPPED = {
    "other letters": (proposed("decision", "we moved the queue to NATS."), "no_such_span"),
    "joined sentences": (proposed("claim", "to NATS. Do not use Redis"), "no_such_span"),
    "one word": (proposed("claim", "Latency"), "no_such_span"),
    "nothing": (proposed("claim", " "), "no_such_span"),
    "no kind": (proposed("entity", "Latency fell to 40 ms."), "unknown_kind"),
    "hardly sure": (proposed("claim", "Latency fell to 40 ms.", confidence=0.1), "doubtful"),
}


@pytest.mark.parametrize(("proposal", "flaw"), DROPPED.values(), ids=DROPPED)
def test_what_the_notes_do_not_say_is_dropped(proposal: Proposal, flaw: str) -> None:
    assert admit(NOTES, [proposal], limit=5) == ([], {flaw: 1})


@pytest.mark.parametrize("confidence", [None, "high", 95, -1])
def test_a_confidence_that_is_none_is_taken_as_that_of_the_kind(confidence: object) -> None:
    claim = Proposal.model_validate({"kind": "claim", "quote": "Latency fell to 40 ms.", "confidence": confidence})
    (finding,), _ = admit(NOTES, [claim, Proposal.model_validate({"kind": None, "quote": "to NATS."})], limit=5)
    assert finding.confidence == LABEL_CONFIDENCE["claim"]


def test_the_same_words_are_found_at_the_next_place_and_counted_once() -> None:
    claim = proposed("claim", "Latency fell to 40 ms.")
    (finding,), _ = admit(NOTES, [claim, claim, claim], limit=5)
    assert finding.start == NOTES.index("Latency")
    assert finding.count == 2


def test_a_model_that_goes_on_is_not_listened_to() -> None:
    several = [proposed("claim", "no such words")] * (MOST_PROPOSALS + 7)
    assert admit(NOTES, several, limit=5) == ([], {"no_such_span": MOST_PROPOSALS})


words = st.sampled_from(["We", "moved", "the", "queue", "to", "NATS.", "Latency", "fell", "\n", "?", "ß", "🐘"])
texts = st.lists(words, max_size=30).map(" ".join)
proposals = st.builds(proposed, st.sampled_from([*KINDS, "entity"]), texts, st.floats(allow_nan=True))


@given(notes=texts, several=st.lists(proposals, max_size=12), limit=st.integers(0, 5))
def test_spans_exist_apart_and_confidence_is_bounded(notes: str, several: list[Proposal], limit: int) -> None:
    findings, _ = admit(notes, several, limit=limit)
    assert len(findings) <= limit
    end = 0
    for finding in findings:
        assert notes[finding.start : finding.end] == finding.content
        assert finding.start >= end
        assert 0.5 <= finding.confidence <= LABEL_CONFIDENCE[finding.kind]
        end = finding.end


def test_hostile_repetition_takes_no_long() -> None:
    notes = "a " * 30_000
    began = time.perf_counter()
    admit(notes, [proposed("claim", "a " * 900 + "b")] * MOST_PROPOSALS, limit=25)
    assert time.perf_counter() - began < 10
