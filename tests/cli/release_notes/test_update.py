"""`--update`: an entry stands between two comments, and no other byte changes."""

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.release_notes.facts import ReleaseNotesFailed
from cli.release_notes.update import merged, update_file

NEW = "# looms 1.1.0\n\n## Overview\n\nNew.\n\n```\n# code\n```\n"
LATER = NEW.replace("New.", "Newer.")
OTHER = b"# looms 1.0.0\n\nOld.\n"
RAW = st.one_of(
    st.binary(max_size=80),
    st.lists(
        st.sampled_from([b"# looms 1.0.0", b"# Changelog", b"## 1.0", b"---", b"", b"\xff", b"```", b"<!--", b"\r"]),
        max_size=12,
    ).map(b"\n".join),
)  # fmt: skip


def into(old: bytes, entry: str = NEW, version: str = "1.1.0") -> bytes:
    return merged(old, entry, version, "NEWS.md")[0]


@given(RAW)
def test_what_was_there_stays_and_writing_again_changes_only_the_entry(old: bytes) -> None:
    once = into(old)
    left = re.sub(rb"<!-- begin .*?<!-- end [^\n]*\n(?:\r?\n---\r?\n)?", b"", once, count=1, flags=re.S)
    assert left.split() == old.split()
    assert into(once) == once
    assert into(into(once, LATER)) == once


@pytest.mark.parametrize(
    ("old", "wanted"),
    [(b"", b"BLOCK"), (OTHER, b"BLOCK\n---\n\n" + OTHER),
     (b"\xef\xbb\xbf---\ntitle: x\n---\n" + OTHER, b"\xef\xbb\xbf---\ntitle: x\n---\nBLOCK\n---\n\n" + OTHER),
     (OTHER.replace(b"\n", b"\r\n"), b"BLOCK\r\n---\r\n\r\n" + OTHER.replace(b"\n", b"\r\n"))],
)  # fmt: skip
def test_an_entry_goes_first(old: bytes, wanted: bytes) -> None:
    block = re.sub(rb"\A.*?(<!-- begin.*?<!-- end[^\r\n]*\r?\n).*\Z", rb"\1", into(old), flags=re.S)
    assert into(old) == wanted.replace(b"BLOCK", block)
    assert NEW.encode() in block.replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    ("above", "below"),
    [("# Changelog\n\nAll of it.\n\n", "## [1.0.0] - 2026-01-01\n\n- Begin\n\n[1.0.0]: https://h.example\n"),
     ("# Changelog\n\n## [Unreleased]\n\n- Soon\n\n", "## 1.0.0\n\n- Begin\n"), ("# Release notes\n\n", "")],
)  # fmt: skip
def test_in_a_changelog_the_entry_stands_below_its_heading_one_level_deeper(above: str, below: str) -> None:
    text = into((above + below).encode()).decode()
    assert text.startswith(f"{above}<!-- begin")
    assert text.endswith(f"-->\n\n{below}" if below else "-->\n")
    assert "\n## looms 1.1.0\n\n### Overview\n" in text
    twice = into(into(text.encode(), "# looms 1.2.0\n", "1.2.0")).decode()
    assert twice.index("## looms 1.2.0") < twice.index("## looms 1.1.0")


def test_what_somebody_wrote_outside_of_the_entry_stays_and_inside_of_it_stops_the_command(tmp_path: Path) -> None:
    file = tmp_path / "RELEASE_NOTES.md"
    assert update_file(file, NEW, "1.1.0") == "created"
    file.write_text(f"Hello.\n\n{file.read_text()}\n## Sponsors\n\nThanks!\n")
    assert update_file(file, LATER, "1.1.0") == "replaced"
    assert file.read_text().startswith("Hello.\n\n<!-- begin")
    assert file.read_text().endswith("-->\n\n## Sponsors\n\nThanks!\n")
    assert update_file(file, LATER, "v1.1.0") in ("replaced", "unchanged")
    for change in (("Newer.", "Newer!"), ("<!-- end release notes", "<!-- gone")):
        edited = file.read_text().replace(*change)
        (copy := tmp_path / "copy.md").write_text(edited)
        with pytest.raises(ReleaseNotesFailed, match="somebody changed the entry"):
            update_file(copy, NEW, "1.1.0")
        assert copy.read_text() == edited


@pytest.mark.parametrize("title", ["# looms v1.1.0", "## [1.1.0] - 2026-01-01", "looms 1\\.1.0\n==="])
def test_an_entry_that_the_command_did_not_write_is_left_to_its_author(title: str) -> None:
    with pytest.raises(ReleaseNotesFailed, match="that this command did not write"):
        into(f"# Changelog\n\n{title}\n\nMine.\n".encode())
    assert b"Mine." in into(f"```\n{title}\n```\n\n# Moving to a loom that is newer than 1.1.0\n\nMine.\n".encode())


def test_rights_and_owner_of_a_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "RELEASE_NOTES.md"
    assert update_file(file, NEW, "1.1.0") == "created"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    file.write_bytes(b"old")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 65_534, 65_533)
    before = file.stat()
    assert update_file(file, NEW, "1.1.0") == "added"
    after = file.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert [*file.parent.iterdir()] == [file]


def test_a_link_a_folder_a_device_and_a_read_only_file_are_in_a_sentence(tmp_path: Path) -> None:
    (target := tmp_path / "target").write_text("precious")
    (link := tmp_path / "link").symlink_to(target)
    (locked := tmp_path / "locked").write_text("old")
    locked.chmod(0o444)
    os.mkfifo(pipe := tmp_path / "pipe")
    (utf16 := tmp_path / "utf16").write_text("x", encoding="utf-16")
    for path, sentence in (
        (link, "symbolic link"), (tmp_path, "is a folder"), (Path(""), "needs the name of a file"), (utf16, "UTF-16"),
        (locked, "read-only"), (pipe, "no ordinary file"), (target / "file", "no folder"),
    ):  # fmt: skip
        with pytest.raises(ReleaseNotesFailed, match=sentence):
            update_file(path, NEW, "1.1.0")
    assert (target.read_text(), locked.read_text()) == ("precious", "old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "locked", "pipe", "target", "utf16"]


def test_a_file_that_somebody_else_changes_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "NEWS.md"
    file.write_bytes(b"old")
    sync = os.fsync

    def meanwhile(descriptor: int) -> None:
        file.write_bytes(b"theirs")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(ReleaseNotesFailed, match="changed by another program"):
        update_file(file, NEW, "1.1.0")
    assert file.read_bytes() == b"theirs"
    assert [*file.parent.iterdir()] == [file]
