"""Who said what a raw memory holds, and whom a question is about."""

import pytest

from stores.language.speakers import NOBODY, asked_about, speaker_hash, speaker_of

INES, RAVI = map(speaker_hash, ("Ines", "Ravi"))


@pytest.mark.parametrize(
    "content",
    ["Ines: the import crashed.", "INES: the import crashed.", "Ines Duarte: the import crashed.",
     "[10:32 am on 8 May, 2023] Ines: the import crashed.", "(8 May) Ines: the import crashed.",
     "<ines> the import crashed.", "  Ines:\tthe import crashed.", "Ines:\nthe import crashed.",
     "Dr. Ines Duarte: the import crashed.", "The Ines: the import crashed.",
     "Ines: one thing: the import crashed.\nInes: and another.", "Ines: the import crashed.\nhere is why: no disk."],
)  # fmt: skip
def test_a_line_of_a_transcript_says_who_speaks(content: str) -> None:
    assert speaker_of(content, {}) == INES


@pytest.mark.parametrize(
    "content",
    ["", "The import crashed.", "re: the import", "http://example.com: down",
     "Ines said today: the import crashed again.", "Ines: the import crashed.\nRavi: again?",
     "The import crashed.\nInes: again?", "10:32 Ines came in.", "C++: a language", " " * 500_000 + "x",
     "Ines said\n" + " \t" * 200_000 + "\n", " " * 5_000 + "[a]" + " " * 400_000 + "x", "Note" * 100_000 + ":",
     "What: the import crashed.", "The: import crashed.", "[" * 50_000, "Ines " * 20_000, "a\n" * 50_000,
     "<" * 50_000],
)  # fmt: skip
def test_elsewhere_nobody_is_taken_for_a_speaker(content: str) -> None:
    assert speaker_of(content, {}) == NOBODY


def test_what_the_metadata_says_counts_before_the_text() -> None:
    assert speaker_of("Ravi: the import crashed.", {"speaker": "Ines Duarte"}) == INES
    assert speaker_of("The import crashed.", {"speaker": " ines "}) == INES
    assert speaker_of("Ravi: the import crashed.", {"speaker": '"@ines"'}) == INES
    assert speaker_of("Ravi: the import crashed.", {"speaker": "Dr. Ines"}) == INES
    assert speaker_of("Ravi: the import crashed.", {"speaker": "…"}) == NOBODY
    for nothing in ("", "  ", 7, None, ["Ines"]):
        assert speaker_of("Ravi: the import crashed.", {"speaker": nothing}) == RAVI


@pytest.mark.parametrize(
    ("question", "about"),
    [("What does Ines think of Ravi's plan?", {INES}), ("what did INES say", {INES}),
     ("Ravi's dog: what is it called?", {RAVI}), ("Ravi\u2019s dog", {RAVI}),
     ("What do Ines and Ravi have in common?", {INES, RAVI}), ("Ravi & Ines, both of them", {INES, RAVI}),
     ("Olga, Ravi, and Ines", {INES, RAVI}), ("Ravi, and, Ines", {INES, RAVI}),
     ("Did Ravi and his sister tell Ines?", {RAVI}), ("Has Ravi told Ines and Ravi?", {RAVI}),
     ("Who crashed the import?", set()), ("What of Inesita?", set()), ("", set()), (" and and and , , &", set())],
)  # fmt: skip
def test_a_question_is_about_whom_it_names_first(question: str, about: set[int]) -> None:
    assert asked_about(question, {INES, RAVI}) == about


def test_only_those_who_speak_are_asked_about() -> None:
    assert asked_about("What does Ines think of Ravi's plan?", {RAVI}) == {RAVI}
    assert asked_about("What does Ines think of Ravi's plan?", set()) == set()
