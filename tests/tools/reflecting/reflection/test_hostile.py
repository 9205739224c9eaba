"""Text that is meant to hurt: time stays in proportion to length, and nothing of it is a finding of absurd size."""

import time
from collections.abc import Callable

import pytest

from tools.reflecting.reflection.extract import SENTENCE_LIMIT, extract
from tools.reflecting.reflection.similarity import contradicts, duplicates_of

SHORT, LONG = 20_000, 160_000
ATTEMPTS = 5  # A busy machine disturbs one or another of them; what grows as the square fails them all.
TEXTS: dict[str, Callable[[int], str]] = {
    "no space": lambda n: "a" * n,
    "quote marks": lambda n: "> " * (n // 2),
    "stars": lambda n: "*" * n,
    "ticks": lambda n: "` " * (n // 2),
    "brackets": lambda n: "(a " * (n // 3),
    "quotations": lambda n: '"a ' * (n // 3),
    "bars": lambda n: "| a " * (n // 4) + "|\n",
    "line ends": lambda n: "\n" * n,
    "full stops": lambda n: ". " * (n // 2),
    "slashes": lambda n: "a/" * (n // 2),
    "addresses": lambda n: "https://" * (n // 8),
    "digits": lambda n: "1" * n,
    "at signs": lambda n: "a@" * (n // 2),
    "cues without an end": lambda n: "we decided to " * (n // 14),
    "half refuted": lambda n: "thought " * (n // 8),
    "spaces": lambda n: " " * n + "x",
    "spaces in a sentence": lambda n: "Rejected" + " " * n + ":",
    "bullet and spaces": lambda n: "-" + " " * n + "x",
    "lines of a space": lambda n: "\n " * (n // 2),
    "dots": lambda n: "." * n + "x",
    "labels": lambda n: "- Rejected: " * (n // 12),
    "indented bullets": lambda n: ("    " * 20 + "- x\n") * (n // 84),
    "half tokens": lambda n: "eyJ" * (n // 3),
    "names": lambda n: "Bob: hello there\n" * (n // 17),
    "same bullets": lambda n: "- TODO: fix the thing now\n" * (n // 26),
    "like bullets": lambda n: "".join(f"- TODO: fix thing {i} of the worker\n" for i in range(n // 36)),
    "other bullets": lambda n: "".join(f"- TODO: fix{i} thing{i} of the worker\n" for i in range(n // 40)),
    "almost sentences": lambda n: ("lorem " * 190 + "ok.\n") * (n // 1144),
}  # fmt: skip


def cost(text: str) -> float:
    start = time.process_time()
    found = extract(text)
    took = time.process_time() - start
    assert all(finding.end - finding.start <= 2 * SENTENCE_LIMIT for finding in found)
    return took


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_time_grows_with_the_length_alone(make: Callable[[int], str]) -> None:
    cost(make(1000))
    growths = (cost(make(LONG)) / max(cost(make(SHORT)), 0.01) for _ in range(ATTEMPTS))
    assert any(growth < 3 * LONG / SHORT for growth in growths)


@pytest.mark.slow
def test_half_a_million_characters_and_a_hundred_thousand_bullets_are_read() -> None:
    assert extract("a" * 500_000) == []
    found = extract("".join(f"- [ ] do{i}\n" for i in range(100_000)), limit=25)
    assert len(found) == 25


def test_comparing_with_long_texts_is_bounded() -> None:
    start = time.process_time()
    duplicates_of("We keep it. " * 50_000, ["we keep it or not " * 50_000] * 3)
    contradicts("We use it. " * 50_000, "we use that " * 50_000)
    assert time.process_time() - start < 20
