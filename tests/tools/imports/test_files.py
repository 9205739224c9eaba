import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.errors import InvalidRequest
from tests.tools.imports.sources import made
from tools.imports.files import Limits, SourceFiles, Utf8, decoded, lines, open_source


def _zipped(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _names(source: SourceFiles) -> list[str]:
    return [file.name for file in source]


def test_a_folder_is_listed_by_name_without_links_and_hidden_folders(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    top = tmp_path / "top"
    shown = ["b.md", "a/c.md", ".cursor/rules/x.mdc", ".cursorrules", ".Sent/cur/1"]
    hidden = [".git/HEAD", ".obsidian/app.json", "node_modules/x/CLAUDE.md"]
    source = made(top, dict.fromkeys([*shown, *hidden], "x"))
    (top / "out.md").symlink_to(secret)
    (top / "loop").symlink_to(top, target_is_directory=True)
    (top / "inside.md").symlink_to(top / "b.md")
    os.mkfifo(top / "pipe")
    assert _names(source) == sorted([*shown, "inside.md"], key=lambda name: name.split("/"))
    assert _names(source) == _names(source)


def test_a_single_file_is_its_own_source(tmp_path: Path) -> None:
    made(tmp_path, {"one.md": "text"})
    (file,) = open_source(tmp_path / "one.md")
    with file.open() as stream:
        assert (file.name, file.size, stream.read()) == ("one.md", 4, b"text")


def test_what_is_not_there_or_damaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK\3\4 no archive")
    for name in ("missing", "bad.zip"):
        with pytest.raises(InvalidRequest, match=name):
            open_source(tmp_path / name)


def test_archives_keep_to_their_limits(tmp_path: Path) -> None:
    members = {
        "good.txt": b"good", "../up.txt": b"x", "/root.txt": b"x", "C:\\x.txt": b"x", "a/../../b.txt": b"x",
        "bomb.txt": b"\0" * 3_000_000, "long.txt": os.urandom(20_000), "rest.txt": os.urandom(9_000),
        "__MACOSX/good.txt": b"x",
    }  # fmt: skip
    path = _zipped(tmp_path / "a.zip", members)
    source = open_source(path, limits=Limits(member_bytes=10_000, total_bytes=9_000, ratio=100))
    assert _names(source) == ["good.txt"]
    assert {file.name for file in source.left_out} == {*members} - {"good.txt", "__MACOSX/good.txt", "C:\\x.txt"} | {
        "C:/x.txt"
    }
    assert all(file.problem for file in source.left_out)
    assert len(_names(open_source(path))) == 3


def test_encrypted_members_are_left_out(tmp_path: Path) -> None:
    path = _zipped(tmp_path / "a.zip", {"a.txt": b"text"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    source = open_source(path)
    assert (_names(source), [file.problem for file in source.left_out]) == ([], ["It is encrypted."])


def test_a_long_line_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as out:
        out.write(b"one\r\n")
        for _ in range(40):
            out.write(b"x" * 1_000_000)
        out.write(b"\nlast")
    tracemalloc.start()
    with path.open("rb") as stream:
        found = list(lines(stream, 2**20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [(1, 0, 5, b"one"), (2, 5, 40_000_006, None), (3, 40_000_006, 40_000_010, b"last")]
    assert peak < 8 * 2**20


@given(st.binary(max_size=200), st.integers(1, 20))
def test_lines_cover_every_byte(data: bytes, most: int) -> None:
    found = list(lines(io.BytesIO(data), most))
    assert b"".join(data[line.begin : line.end] for line in found) == data
    assert all(line.data is None or line.data == data[line.begin : line.end].rstrip(b"\r\n") for line in found)


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("Grüße".encode(), None, "Grüße"),
        ("Grüße".encode("utf-8-sig"), None, "Grüße"),
        ("Grüße".encode("utf-16"), None, "Grüße"),
        ("Grüße".encode("latin-1"), None, "Grüße"),
        ("こんにちは".encode("iso-2022-jp"), "iso-2022-jp", "こんにちは"),
        ("Grüße".encode(), "no-such", "Grüße"),
        ("Grüße".encode(), "punycode", "Grüße"),
        (b"\x81x", None, "\ufffdx"),
    ],
)
def test_text_is_decoded_whatever_it_is(data: bytes, charset: str | None, text: str) -> None:
    assert decoded(data, charset) == text


@given(st.binary(), st.sampled_from([None, "utf-7", "utf-16", "hz", "rot13", "idna", "\0", "x" * 300]))
def test_decoding_never_fails(data: bytes, charset: str | None) -> None:
    assert isinstance(decoded(data, charset), str)
    assert Utf8(io.BytesIO(data)).read() is not None
