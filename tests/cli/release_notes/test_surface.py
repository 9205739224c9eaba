from pathlib import Path

import pytest

from tests.cli.release_notes.comparing import Files, compared, told
from tests.cli.release_notes.repositories import begun

PYTHON = '''
"""A module."""
import os
from typing import TYPE_CHECKING

LIMIT = 3
_hidden = 4

def kept(a, b: int = 1, /, c="x", *args, d, e=None, **more): ...
def _private(): ...
async def wait(): ...

class Store:
    size: int = 0
    _lock = None
    def __init__(self, path, *, mode="r"): ...
    def read(self, count=10):
        return count + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9
    @property
    def closed(self): ...
    @staticmethod
    def parse(text): ...
    @classmethod
    def make(cls, name): ...
    def _inner(self): ...

if TYPE_CHECKING:
    Alias = int
try:
    import fast
except ImportError:
    def fallback(): ...
'''


def test_a_new_python_module_is_what_it_offers(tmp_path: Path) -> None:
    _, found = compared(tmp_path, {}, {"src/tool/__init__.py": "", "src/tool/store.py": PYTHON})
    names = {name for change, name, _ in told(found) if change == "added"}
    assert names == {
        "tool.store.LIMIT", "tool.store.kept(a, b=1, /, c='x', *args, d, e=None, **more)", "tool.store.wait()",
        "tool.store.Store(path, *, mode='r')", "tool.store.Alias", "tool.store.fallback()",
    }  # fmt: skip


def test_members_and_signatures_that_differ_are_told_with_both_ends(tmp_path: Path) -> None:
    changed = PYTHON.replace("count=10", "count=20").replace("    def parse(text)", "    def parse(text, strict)")
    changed = changed.replace("def kept(", "def kept_no_more(").replace("def closed(self)", "def is_closed(self)")
    _, found = compared(tmp_path, {"tool/__init__.py": "", "tool/store.py": PYTHON}, {"tool/store.py": changed})
    assert told(found) == [
        ("removed", "tool.store.kept(a, b=1, /, c='x', *args, d, e=None, **more)",
         "tool.store.kept(a, b=1, /, c='x', *args, d, e=None, **more)"),
        ("removed", "tool.store.Store.closed", "tool.store.Store.closed"),
        ("changed", "tool.store.Store.parse(text, strict)", "tool.store.Store.parse(text)"),
        ("changed", "tool.store.Store.read(count=20)", "tool.store.Store.read(count=10)"),
        ("added", "tool.store.kept_no_more(a, b=1, /, c='x', *args, d, e=None, **more)", None),
        ("added", "tool.store.Store.is_closed", None),
    ]  # fmt: skip


def test_tests_scripts_and_private_modules_offer_nothing(tmp_path: Path) -> None:
    code = "def f(): ...\n"
    paths = ("tests/test_a.py", "setup.py", "docs/conf.py", "scripts/x.py", "tool/_a.py", "examples/e.py")
    _, found = compared(tmp_path, {"tool/__init__.py": ""}, dict.fromkeys(paths, code))
    assert told(found) == []


def test_python_that_is_none_is_remarked_and_the_rest_is_read(tmp_path: Path) -> None:
    after: Files = {
        "tool/__init__.py": "",
        "tool/a.py": "print 'old'\n",
        "tool/b.py": "def f(): ...\n",
        "tool/c.py": "x = " + "(" * 5_000,
        "tool/d.py": b"\xff\xfe = 1\n",
        "tool/e.py": "x = '\\d'\n" + "def g(): ...\n",
    }
    built, found = compared(tmp_path, {}, after)
    assert {"tool.b.f()", "tool.e.g()"} <= {name for _, name, _ in told(found)}
    assert any("could not be parsed" in remark for remark in built.facts().remarks)


@pytest.mark.parametrize("released", [True, False])
def test_what_came_and_went_within_the_range_breaks_nothing(tmp_path: Path, released: bool) -> None:
    old = "class Client:\n    def close(self): ...\n"
    built = begun(tmp_path, {"tool/__init__.py": "", "tool/a.py": old if released else "class Client: ...\n"})
    if not released:
        built.commit("Rework the client", {"tool/a.py": old})
    sha = built.commit("Remove `Client.close()`", {"tool/a.py": "class Client: ...\n", "docs/a.md": "Gone"})
    change = next(change for change in built.facts().changes if change.commits == (sha,))
    assert change.breaking is released
