"""What counts as text in notes, and what stands around it."""

import pytest

from tools.reflecting.reflection.layout import blocks


def texts(notes: str) -> list[str]:
    return [notes[block.start : block.end] for block in blocks(notes)]


def test_marks_of_lists_times_and_speakers_are_no_text() -> None:
    notes = "- one\n* [ ] two\n3) three\n[10:31] ana: four\n[10:32] bo: five\n> six\n09:14 UTC seven\n→ eight"
    assert texts(notes) == ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def test_code_logs_and_stack_traces_are_no_text() -> None:
    notes = (
        "before\n```\nwe decided\n```\n2025-05-04T02:11:09Z WARN we must stop\nTraceback (most recent call last):\n"
        '  File "a.py", line 3, in run\n    self.run()\nRuntimeError: must begin\n$ make test\nafter'
    )
    assert texts(notes) == ["before", "after"]


def test_a_check_box_says_whether_it_is_ticked() -> None:
    found = blocks("- [ ] open\n- [x] done\n- ☐ open\n- ☑ done\n- none")
    assert [block.checked for block in found] == [False, True, False, True, None]


@pytest.mark.parametrize(
    "notes",
    ["## Decisions\n\n- Use it", "Decisions\n---------\nUse it", "**Decisions:**\nUse it", "Agreed\n- Use it"],
    ids=["hashes", "underlined", "bold", "bare line above a list"],
)
def test_a_heading_says_what_is_under_it(notes: str) -> None:
    assert [block.context for block in blocks(notes)] == ["decision"]


def test_a_heading_that_says_nothing_keeps_what_the_one_above_said() -> None:
    found = blocks("# Decisions\n## Storage\n- one\n# Weather\n- two")
    assert [block.context for block in found] == ["decision", None]


def test_a_column_of_a_table_is_headed_by_its_first_row() -> None:
    notes = "| Topic | Decision |\n|---|---|\n| Cache | Redis |\n| Queue | NATS |"
    assert [(notes[b.start : b.end], b.context) for b in blocks(notes)] == [
        ("Cache", None), ("Redis", "decision"), ("Queue", None), ("NATS", "decision"),
    ]  # fmt: skip


def test_wrapped_prose_is_one_block_and_short_lines_are_several() -> None:
    wrapped = (
        "The migration to the new address format took most\nof the day, and we had to stop it twice because the\n"
        "table was locked for too long."
    )
    assert texts(wrapped) == [wrapped]
    assert texts("it was the trigger\nyou can turn it off\ndone") == [
        "it was the trigger", "you can turn it off", "done",
    ]  # fmt: skip


def test_an_indented_line_goes_on_with_its_item_and_windows_line_ends_are_no_text() -> None:
    assert texts("- one\n  goes on\n- two") == ["one\n  goes on", "two"]
    assert texts("- one\r\n- two\r\n") == ["one", "two"]
