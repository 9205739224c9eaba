"""The table of the ASVS page: no requirement is missing, and every test that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from rest_bridge.oauth import Registration
from tools.catalogue import OPERATIONS

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "explain" / "asvs.md"
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))))

COUNTS = {
    "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
    "7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2,
    "8.1": 2, "8.2": 3, "8.3": 2, "8.4": 1,
    "9.1": 3, "9.2": 4,
    "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3,
}  # fmt: skip
"""Requirements of levels 1 and 2 in each section of version 5.0.0, which come first in it; 8.3.2 is of level 3."""


@cache
def defined_in(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


def test_every_requirement_has_one_row_in_order() -> None:
    wanted = [f"{section}.{number}" for section, count in COUNTS.items() for number in range(1, count + 1)]
    assert [number for number, *_ in ROWS] == wanted


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part)
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert (TESTS / file).is_file()
    assert name in defined_in(TESTS / file)


def test_every_row_says_what_is_true_of_it() -> None:
    for number, _, state, reason in ROWS:
        assert state in ("yes", "partly", "open", "n/a"), number
        assert "::" in reason or len(reason) > 10, f"{number} names neither a test nor a reason"
        if state in ("partly", "open", "n/a"):
            assert re.search(r"[a-z][.](?: |$)", reason), f"{number} says in no sentence what is missing"


def test_the_page_names_the_limits_that_hold() -> None:
    page = PAGE.with_name("security.md").read_text(encoding="utf-8")
    section = page.partition("## Guessing\n")[2].partition("\n## ")[0]
    rates = {each.name: each.route.rate for each in OPERATIONS if each.route is not None and each.route.rate}
    assert {rates[name] for name in ("log_in", "sign_up", "ask_for_reset", "confirm_reset")} == {"5/minute"}
    assert section.count("| 5 tries a minute") == 3
    named = {"oidc_login": "starts a minute", "start_device": "starts", "decide_device": "decisions a minute"}
    for name, words in named.items():
        assert f"{rates[name].partition('/')[0]} {words}" in section
    assert Registration.rate == "60/hour"
    assert "60 registrations an hour" in section
