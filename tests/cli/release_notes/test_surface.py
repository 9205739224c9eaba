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


def test_what_is_new_crowds_out_nothing_that_differs_and_no_outer_name(tmp_path: Path) -> None:
    many = "\n".join(f"def f{number}(): ..." for number in range(600))
    before = {"tool/__init__.py": "def keep(x): ...\ndef old(a): return a\n", "tool/deep/__init__.py": ""}
    after = {"tool/__init__.py": "def keep(x, y): ...\ndef new(b): return b + 1\n", "tool/deep/many.py": many}
    _, found = compared(tmp_path, before, after)
    assert told(found)[:3] == [
        ("removed", "tool.old(a)", "tool.old(a)"), ("changed", "tool.keep(x, y)", "tool.keep(x)"),
        ("added", "tool.new(b)", None),
    ]  # fmt: skip


def test_annotations_and_bodies_are_no_change_of_the_interface(tmp_path: Path) -> None:
    changed = (
        PYTHON.replace("b: int = 1", "b: float = 1")
        .replace("count + 1", "count + 2")
        .replace("def wait()", "def wait() -> None")
    )
    _, found = compared(tmp_path, {"tool/__init__.py": "", "tool/store.py": PYTHON}, {"tool/store.py": changed})
    assert told(found) == []


def test_names_are_those_that_users_import(tmp_path: Path) -> None:
    before: Files = {
        "src/tool/__init__.py": "from ._core._store import open_store as open_store\nfrom ._core import *\n",
        "src/tool/_core/__init__.py": "",
        "src/tool/_core/_store.py": "def open_store(path): ...\ndef helper(): ...\n",
    }
    after: Files = {"src/tool/_core/_store.py": "def open_store(path, mode='r'): ...\ndef helper(x): ...\n"}
    _, found = compared(tmp_path, before, after)
    assert told(found) == [("changed", "tool.open_store(path, mode='r')", "tool.open_store(path)")]


def test_moving_a_definition_behind_the_same_import_changes_nothing(tmp_path: Path) -> None:
    before: Files = {"tool/__init__.py": "from .a import f\n", "tool/a.py": "def f(x): ...\n"}
    after: Files = {"tool/__init__.py": "from ._b import f\n", "tool/a.py": None, "tool/_b.py": "def f(x): ...\n"}
    _, found = compared(tmp_path, before, after)
    assert told(found) == []


def test_an_export_that_goes_is_gone(tmp_path: Path) -> None:
    before: Files = {"tool/__init__.py": "from ._a import f, g\n", "tool/_a.py": "def f(x): ...\ndef g(): ...\n"}
    _, found = compared(tmp_path, before, {"tool/__init__.py": "from ._a import f\n"})
    assert [(change, name) for change, name, _ in told(found)] == [("removed", "tool.g")]


def test_dunder_all_decides(tmp_path: Path) -> None:
    text = "__all__ = ['_odd']\n__all__ += ['more']\ndef _odd(): ...\ndef more(): ...\ndef other(): ...\n"
    _, found = compared(tmp_path, {}, {"tool/__init__.py": "", "tool/a.py": text})
    assert {name for _, name, _ in told(found)} == {"tool.a._odd()", "tool.a.more()"}


def test_tests_scripts_and_private_modules_offer_nothing(tmp_path: Path) -> None:
    code = "def f(): ...\n"
    paths = (
        "tests/test_a.py",
        "setup.py",
        "docs/conf.py",
        "scripts/x.py",
        "tool/_a.py",
        "tool/test_b.py",
        "examples/e.py",
    )
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


def test_moved_files_are_told_with_where_they_were(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(50))
    _, found = compared(tmp_path, {"docs/a.md": text}, {"docs/a.md": None, "docs/guide/b.md": text + "\nmore"})
    assert told(found, "moved") == [("renamed", "docs/guide/b.md", "docs/a.md")]


def test_of_several_commits_those_that_made_the_difference_are_named(tmp_path: Path) -> None:
    built = begun(tmp_path, {"tool/__init__.py": "", "tool/a.py": "def f(): ...\n"})
    built.commit("One", {"tool/a.py": "def f(): ...\n# note\n"})
    second = built.commit("Two", {"tool/a.py": "def f(): ...\n# note\ndef wanted(): ...\n"})
    built.commit("Three", {"tool/a.py": "def f(): ...\ndef wanted(): ...\n"})
    (found,) = built.facts().surface
    assert (found.name, found.commits) == ("tool.a.wanted()", (second,))


def test_areas_count_commits_files_and_lines(tmp_path: Path) -> None:
    built = begun(tmp_path, {"src/tool/web/a.py": "1\n2\n", "docs/a.md": "x\n"})
    built.commit("One", {"src/tool/web/a.py": "1\n3\n4\n", "src/tool/store/b.py": "1\n"})
    built.commit("Two", {"src/tool/web/a.py": "1\n3\n4\n5\n", "docs/a.md": "y\n", "b.bin": b"\0\1"})
    found = {area.name: (area.commits, area.files, area.insertions, area.deletions) for area in built.facts().areas}
    assert found == {
        "src/tool/web": (2, 1, 3, 1),
        "src/tool/store": (1, 1, 1, 0),
        "docs": (1, 1, 1, 1),
        ".": (1, 1, 0, 0),
    }


def test_what_a_merge_itself_changed_rests_on_the_merge(tmp_path: Path) -> None:
    built = begun(tmp_path, {"tool/__init__.py": "", "tool/a.py": "x = 1\n"})
    head = str(built.head)
    side = built.commit("Add b", {"tool/b.py": "x = 1\n"}, parents=[head], keep=False)
    merge = built.commit("Merge branch 'side'", {"tool/c.py": "def late(): ...\n"}, parents=[head, side])
    found = {one.name: one.commits for one in built.facts().surface}
    assert found["tool.c.late()"] == (merge,)
    assert found["tool.b.x"] == (side,)


def test_a_commit_of_very_many_files_is_found_for_each_of_them(tmp_path: Path) -> None:
    built = begun(tmp_path, {"tool/__init__.py": ""})
    sha = built.commit("Add all", {f"tool/a{number:04}.py": "def f(): ...\n" for number in range(600)})
    built.commit("Fix b", {"tool/b.py": "x = 1\n"})
    found = {one.path: one.commits for one in built.facts().surface}
    assert found["tool/a0450.py"] == (sha,)


def test_code_that_is_too_deep_is_left_out(tmp_path: Path) -> None:
    chain = "if a: pass\n" + "elif b: pass\n" * 3_000
    sums = "x = " + "1 + " * 20_000 + "1\n"
    _, found = compared(
        tmp_path, {}, {"tool/__init__.py": "", "tool/a.py": chain, "tool/b.py": sums, "tool/c.py": "y = 1\n"}
    )
    assert "tool.c.y" in {name for _, name, _ in told(found)}


def test_a_submodule_that_moves_is_a_dependency(tmp_path: Path) -> None:
    built = begun(tmp_path, {"tool/a.py": "x = 1\n"})
    built.link("vendor/old", "1" * 40)
    built.link("vendor/kept", "3" * 40)
    built.commit("Add submodules")
    built.tag("v2")
    built.link("vendor/old", "2" * 40)
    built.link("vendor/new", "4" * 40)
    built.put("vendor/kept", None)
    sha = built.commit("Move them")
    found = built.facts("v2").dependencies
    assert sorted((one.name, one.before, one.after) for one in found) == [
        ("vendor/kept", "3" * 10, None), ("vendor/new", None, "4" * 10), ("vendor/old", "1" * 10, "2" * 10),
    ]  # fmt: skip
    assert all((one.ecosystem, one.commits) == ("submodule", (sha,)) for one in found)


@pytest.mark.parametrize("released", [True, False])
def test_what_came_and_went_within_the_range_breaks_nothing(tmp_path: Path, released: bool) -> None:
    old = "class Client:\n    def close(self): ...\n"
    built = begun(tmp_path, {"tool/__init__.py": "", "tool/a.py": old if released else "class Client: ...\n"})
    if not released:
        built.commit("Rework the client", {"tool/a.py": old})
    sha = built.commit("Remove `Client.close()`", {"tool/a.py": "class Client: ...\n", "docs/a.md": "Gone"})
    change = next(change for change in built.facts().changes if change.commits == (sha,))
    assert change.breaking is released
