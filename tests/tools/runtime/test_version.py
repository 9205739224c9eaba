from pathlib import Path

import pygit2
import pytest

from tools.runtime.version import ROOT, commit

AUTHOR = pygit2.Signature("A", "a@localhost.test", 0, 0)


def committed(folder: Path) -> str:
    repository = pygit2.init_repository(str(folder))
    (folder / "tools").mkdir()
    (folder / "tools" / "code.py").write_text("one = 1\n")
    (folder / "notes.md").write_text("One.\n")
    repository.index.add_all()
    repository.index.write()
    return str(repository.create_commit("HEAD", AUTHOR, AUTHOR, "Begin", repository.index.write_tree(), []))


@pytest.fixture(autouse=True)
def _afresh() -> None:
    commit.cache_clear()


def test_a_checkout_is_named_by_its_commit(tmp_path: Path) -> None:
    sha = committed(tmp_path)
    assert commit(tmp_path) == sha[:12]


def test_a_second_checkout_of_one_repository_is_named_by_its_own_commit(tmp_path: Path) -> None:
    sha = committed(tmp_path / "first")
    pygit2.Repository(str(tmp_path / "first")).add_worktree("second", str(tmp_path / "second"))
    assert commit(tmp_path / "second") == sha[:12]


def test_code_that_differs_from_the_commit_is_told_by_what_it_says(tmp_path: Path) -> None:
    sha = committed(tmp_path)[:12]
    named = set()
    for text in ("one = 2\n", "one = 3\n", None):
        code = tmp_path / "tools" / "code.py"
        code.write_text(text) if text is not None else code.unlink()
        commit.cache_clear()
        named.add(commit(tmp_path))
    assert len(named) == 3
    assert all(each is not None and each.startswith(f"{sha}+") for each in named)


def test_documents_that_differ_make_no_other_code(tmp_path: Path) -> None:
    sha = committed(tmp_path)
    (tmp_path / "notes.md").write_text("Two.\n")
    assert commit(tmp_path) == sha[:12]


def test_a_server_goes_on_with_the_commit_that_it_started_with(tmp_path: Path) -> None:
    sha = committed(tmp_path)
    assert commit(tmp_path) == sha[:12]
    (tmp_path / "tools" / "code.py").write_text("one = 2\n")
    assert commit(tmp_path) == sha[:12]


def test_an_installed_package_has_none_even_in_somebody_elses_checkout(tmp_path: Path) -> None:
    committed(tmp_path)
    (tmp_path / "tools" / "site-packages").mkdir()
    assert commit(tmp_path / "tools" / "site-packages") is None


@pytest.mark.parametrize("kept", ["", "gitdir: nowhere\n"])
def test_a_checkout_that_cannot_be_read_or_has_no_commit_has_none(tmp_path: Path, kept: str) -> None:
    if kept:
        (tmp_path / ".git").write_text(kept)
    else:
        pygit2.init_repository(str(tmp_path))
    assert commit(tmp_path) is None


def test_the_checkout_of_the_running_code_is_looked_at() -> None:
    assert (ROOT / "tools" / "runtime" / "version.py").is_file()
