"""`--update`: an entry goes in, and no other byte changes."""

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.release_notes.entries import line_ending, merged
from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.update import update

NEW = "# looms 1.1.0\n\n## Overview\n\nNew.\n"
VERSION = "1.1.0"
OTHER = "# looms 1.0.0\n\nOld, with\n\n```\n# looms 1.1.0\n---\n```\n"
ENDINGS = st.sampled_from(["\n", "\r\n"])
RAW = st.one_of(
    st.binary(max_size=80),
    st.lists(
        st.sampled_from(
            [b"# looms 1.0.0", b"---", b"", b"text", b"\xff\xfe\x00", b"```", b"=====", b"<!--", b"- item"]
        ),
        max_size=12,
    ).map(b"\n".join),
).filter(lambda data: not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"---")))


def into(old: bytes, new: str = NEW) -> bytes:
    return merged(old, new, VERSION)[0]


@given(RAW, st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_what_was_there_stays_to_the_byte_after_a_rule(old: bytes, bom: bytes) -> None:
    if not bom + old:
        assert into(b"") == NEW.encode()
        return
    ending = line_ending(bom + old)
    entry = NEW.replace("\n", ending).encode()
    rule = f"{ending}---{ending}{ending}".encode() if old else b""
    assert into(bom + old) == bom + entry + rule + old


@given(RAW)
def test_writing_the_same_version_again_changes_nothing(old: bytes) -> None:
    once = into(old)
    assert into(once) == once


@given(RAW, st.text("ab#\n", max_size=20))
def test_the_entry_of_the_same_version_is_replaced_and_the_rest_stays(old: bytes, words: str) -> None:
    body = "".join(f"x{line}\n" for line in words.split("\n"))
    longer = f"# looms 1.1.0\n\n{body}"
    assert into(into(old), longer) == into(old, longer)


@given(ENDINGS, st.sampled_from([b"", b"\xef\xbb\xbf"]), st.booleans())
def test_an_entry_between_others_is_replaced_in_its_place(ending: str, bom: bytes, final_newline: bool) -> None:
    before = f"# looms 2.0.0\n\nNewer.\n\n---\n\n# looms 1.1.0\n\nOutdated.\n\n---\n\n{OTHER}\xe9"
    old = bom + before.replace("\n", ending).encode("latin-1") + (ending.encode() if final_newline else b"")
    wanted = old.replace(
        f"# looms 1.1.0{ending}{ending}Outdated.{ending}".encode(), NEW.replace("\n", ending).encode(), 1
    )
    assert wanted != old
    assert into(old) == wanted


TITLES = {
    "v before the number": ("# looms v1.1.0", True),
    "escaped": ("# looms 1\\.1\\.0", True),
    "another version": ("# looms 1.1.0.1", False),
    "a chapter": ("# Moving to 1.1.0", False),
    "lower": ("## looms 1.1.0", False),
    "underlined": ("looms v1.1.0\n====", True),
    "of a comment": ("<!--\n# looms 1.1.0\n-->", False),
    "of a fence": ("~~~\n# looms 1.1.0\n~~~", False),
}


@pytest.mark.parametrize(("title", "is_it"), TITLES.values(), ids=TITLES)
def test_an_entry_is_known_by_its_title_alone(title: str, is_it: bool) -> None:
    assert (b"Mine" not in into(f"{title}\n\nMine.\n".encode())) is is_it


@pytest.mark.parametrize("next_title", ["# Older", "Older\n=====", "## Older", "***", "---", "[1.0.0]: https://h.org"])
def test_what_no_entry_has_is_no_part_of_one(next_title: str) -> None:
    for shape in (NEW, NEW.replace("# looms 1.1.0\n", "looms v1.1.0\n===\n")):
        old = f"{shape}\n{next_title}\n\ntext\n\n## Contributors\n".encode()
        assert into(old) == old.replace(shape.encode(), NEW.encode())


def test_of_a_version_that_is_there_twice_the_first_is_replaced(file: Path) -> None:
    again = "# 1.1.0\n\nby hand\n"
    file.write_text(f"# looms v1.1.0\n\n## Overview\n\nOld.\n\n{again}")
    assert put(file) == "replaced, the first of them: the file has that version more than once"
    assert file.read_text() == f"{NEW}\n{again}"


def test_a_long_file_is_read_in_a_time_that_grows_with_its_length() -> None:
    def seconds(lines: int) -> float:
        started = time.process_time()
        into(b"# looms h\n" * lines + b"<!--" * lines + b"\n" + b"- " * lines + b"x\n" + b"``" * lines)
        return time.process_time() - started

    assert seconds(200_000) < 20 * seconds(20_000) + 1


def test_front_matter_stays_first() -> None:
    old = b"---\ntitle: Notes\nlayout: page\n---\n\n# looms 1.0.0\n"
    assert into(old) == b"---\ntitle: Notes\nlayout: page\n---\n" + NEW.encode() + b"\n---\n\n\n# looms 1.0.0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "RELEASE_NOTES.md"


def put(path: Path) -> str:
    return update(path, NEW, VERSION)


def test_a_missing_file_is_made_with_the_entry_alone(file: Path) -> None:
    assert put(file) == "created"
    assert file.read_bytes() == NEW.encode()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    assert put(file) == "replaced"
    assert [*file.parent.iterdir()] == [file]


def test_the_rights_of_a_file_stay(file: Path) -> None:
    file.write_bytes(b"old")
    file.chmod(0o640)
    assert put(file) == "added"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.read_bytes() == NEW.encode() + b"\n---\n\nold"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_a_file_stays(file: Path) -> None:
    file.write_bytes(b"old")
    file.chmod(0o640)
    os.chown(file, 65_534, 65_533)
    assert put(file) == "added"
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65_534, 65_533, 0o640)


def test_a_link_a_folder_a_device_and_a_read_only_file_are_refused_in_a_sentence(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    locked = tmp_path / "locked"
    locked.write_text("old")
    locked.chmod(0o444)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    utf16 = tmp_path / "utf16"
    utf16.write_text("x", encoding="utf-16")
    for path, sentence in (
        (link, "symbolic link"),
        (tmp_path, "is a folder"),
        (Path(""), "needs the name of a file"),
        (locked, "read-only"),
        (pipe, "no ordinary file"),
        (tmp_path / "none" / "file", "no folder"),
        (target / "file", "cannot be written"),
        (utf16, "UTF-16"),
    ):
        with pytest.raises(ReleaseNotesFailed, match=sentence):
            put(path)
    assert target.read_text() == "precious"
    assert locked.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "locked", "pipe", "target", "utf16"]


def test_a_file_that_somebody_else_changes_meanwhile_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b"old")
    sync = os.fsync

    def meanwhile(descriptor: int) -> None:
        file.write_bytes(b"theirs")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(ReleaseNotesFailed, match="changed by somebody else"):
        put(file)
    assert file.read_bytes() == b"theirs"
    assert [*file.parent.iterdir()] == [file]
