import os
import shutil
import subprocess
from pathlib import Path

import pygit2
import pytest

from cli.release_notes.analysis.analyse import analyse
from cli.release_notes.facts import FactsRequest, ReleaseNotesFailed
from tests.cli.release_notes.repositories import begun, facts


def git(folder: Path, *arguments: str) -> str:
    settings = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_CONFIG_GLOBAL": os.devnull}
    settings |= {"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org", "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **settings}, capture_output=True, check=True
    )
    return done.stdout.decode()


def worked(folder: Path, *flags: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *flags)
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    for number in range(3):
        (folder / "a.py").write_text(f"x = {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"Add {number}")
    return folder


@pytest.mark.parametrize(
    ("older", "newer", "said"),
    [("v9", "HEAD", "'v9' is no tag, branch or commit"), ("", "HEAD", "--from needs"), ("v1", "v1", "nothing between"),
     ("HEAD", "v1", "newer than --to 'v1', by 1 commit; swap"), ("v1..HEAD", "HEAD", "is a range"),
     ("v1:README.md", "HEAD", "is not a commit"), ("--upload-pack=evil", "HEAD", "is no tag"),
     ("v1\0", "HEAD", "is no tag"), (":/nothing like it", "HEAD", "is no tag"), ("x" * 100_000, "HEAD", "is no tag")],
)  # fmt: skip
def test_ends_that_make_no_range_are_refused_in_a_sentence(tmp_path: Path, older: str, newer: str, said: str) -> None:
    built = begun(tmp_path)
    built.commit("Add thing")
    with pytest.raises(ReleaseNotesFailed) as refused:
        built.facts(older, newer)
    assert said in str(refused.value)
    assert str(refused.value).endswith((".", "?"))
    assert "\n" not in str(refused.value)


def test_a_diverged_older_end_is_remarked(tmp_path: Path) -> None:
    built = begun(tmp_path)
    start = str(built.head)
    built.tag("patch", built.commit("Fix on the release branch", parents=[start], keep=False))
    built.commit("Add thing", parents=[start])
    found = built.facts("patch")
    assert len(found.commits) == 1
    assert found.remarks[0] == "patch has 1 commit that HEAD lacks; they are not part of these notes."


def test_a_detached_head_and_a_linked_worktree_are_read(tmp_path: Path) -> None:
    folder = worked(tmp_path / "work")
    git(folder, "tag", "v1", "HEAD~2")
    git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "HEAD~1")
    assert len(facts(tmp_path / "linked").commits) == 1
    git(folder, "checkout", "-q", "--detach", "HEAD")
    (folder / "deep" / "er").mkdir(parents=True)
    assert len(facts(folder / "deep" / "er").commits) == 2


def test_a_submodule_and_a_repository_of_sha256_are_read_by_themselves(tmp_path: Path) -> None:
    inner, outer = worked(tmp_path / "inner"), worked(tmp_path / "outer", "--object-format=sha256")
    assert len(facts(outer, "HEAD~2").commits) == 2
    whole = worked(tmp_path / "whole")
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(whole, "commit", "-q", "-m", "Add lib")
    found = facts(whole / "lib", "HEAD~1")
    assert (len(found.commits), found.project_name) == (1, "lib")
    assert len(facts(whole, "HEAD~1").commits) == 1


def test_a_repository_of_somebody_else_is_refused_with_the_way_out(tmp_path: Path) -> None:
    built = begun(tmp_path / "bare")
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    for path in [built.folder, *built.folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    with pytest.raises(ReleaseNotesFailed, match=r"another user.*safe\.directory"):
        built.facts()


def test_a_shallow_clone_says_what_it_lacks(tmp_path: Path) -> None:
    built = begun(tmp_path / "whole")
    built.tag("old")
    for number in range(6):
        built.commit(f"Add {number}", {"a.py": f"x = {number}\n"})
    built.tag("near", str(built.repository.revparse_single("HEAD~2").id))
    git(tmp_path, "clone", "-q", "--bare", "--depth", "4", f"file://{built.folder}", "shallow")
    shallow = tmp_path / "shallow"
    with pytest.raises(ReleaseNotesFailed, match="shallow"):
        facts(shallow, "old")
    git(shallow, "tag", "old-1")
    with pytest.raises(ReleaseNotesFailed, match=r"mean 'old-1'\? The clone is shallow"):
        facts(shallow, "old-2")
    git(shallow, "fetch", "-q", "--depth", "1", "origin", "tag", "old")
    assert any("--unshallow" in remark for remark in facts(shallow, "old").remarks)
    git(shallow, "fetch", "-q", "origin", "tag", "near")
    assert len(facts(shallow, "near").commits) == 2


@pytest.mark.parametrize("claim", ["99999999999999 +0000", "-1 +0000", "1700000000 +9999", "0 -1400"])
def test_impossible_times_are_survived(tmp_path: Path, claim: str) -> None:
    built = begun(tmp_path)
    tree = built.repository[built.head].tree_id
    who = f"Ann <ann@example.org> {claim}"
    raw = f"tree {tree}\nparent {built.head}\nauthor {who}\ncommitter {who}\n\nAdd thing\n".encode()
    made = built.repository.odb.write(pygit2.enums.ObjectType.COMMIT, raw)
    found = built.facts("v1", str(made))
    assert found.newer.at.tzinfo is not None


def test_a_local_address_is_read_where_it_is(tmp_path: Path) -> None:
    built = begun(tmp_path / "with space")
    built.commit("Add thing")
    address = built.folder.as_uri()
    for url in (str(built.folder), address, address.replace("file://", "FILE://localhost"), address.replace("//", "")):
        assert len(analyse(FactsRequest(None, url, "v1", "HEAD", None), lambda *_: None).commits) == 1
    inside = Path(built.folder.parent if built.folder.name == ".git" else built.folder) / "inside"
    inside.mkdir()
    for url in (str(inside), inside.as_uri()):
        with pytest.raises(ReleaseNotesFailed, match="is no Git repository itself"):
            analyse(FactsRequest(None, url, "v1", "HEAD", None), lambda *_: None)
    shutil.rmtree(built.folder)
    with pytest.raises(ReleaseNotesFailed, match="There is no repository at"):
        analyse(FactsRequest(None, str(built.folder), "v1", "HEAD", None), lambda *_: None)
    with pytest.raises(ReleaseNotesFailed, match="no Git repository itself, nor inside of one"):
        facts(tmp_path)


@pytest.mark.parametrize("harm", [None, b"no object"])
@pytest.mark.parametrize("what", ["commit", "parent", "tree", "folder", "blob", "older tree"])
def test_missing_and_damaged_objects_are_a_sentence_or_left_out(tmp_path: Path, harm: bytes | None, what: str) -> None:
    built = begun(tmp_path, {"tool/a.py": "x = 1\n"})
    start = str(built.head)
    parent = built.commit("Add b", {"tool/b.py": "def f(): ...\n"})
    head = built.commit("Add c", {"tool/c.py": "def g(): ...\n"})
    tree = built.repository[head].peel(pygit2.Tree)
    found = {"commit": head, "parent": parent, "tree": str(tree.id), "folder": str(tree["tool"].id)}
    found |= {"blob": str(tree["tool/c.py"].id), "older tree": str(built.repository[start].peel(pygit2.Tree).id)}
    path = built.folder / "objects" / found[what][:2] / found[what][2:]
    path.unlink()
    if harm is not None:
        path.write_bytes(harm)
    if what == "blob":
        assert len(built.facts("v1", "main").commits) == 2
        return
    with pytest.raises(ReleaseNotesFailed) as refused:
        built.facts("v1", "main")
    assert "\n" not in str(refused.value)


def test_nothing_that_a_repository_names_is_run_and_nothing_is_written_into_it(tmp_path: Path) -> None:
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    folder = worked(tmp_path / "work")
    sections = {"core": "fsmonitor sshCommand pager", "diff": "external evil.textconv evil.command"}
    sections |= {"filter": "evil.clean evil.smudge evil.process", "gpg": "program", "credential": "helper"}
    names = [f"{section}.{key}" for section, keys in sections.items() for key in keys.split()]
    for name in names:
        git(folder, "config", name, str(evil))
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(evil, folder / ".git" / "hooks" / hook)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(facts(folder, "HEAD~2").commits) == 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "ran").exists()
