import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.errors import InvalidRequest
from tests.tools.imports.sources import made
from tools.imports.files import SourceFiles, decoded, lines, open_source


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
    assert sorted(_names(source)) == sorted([*shown, "inside.md"])
    assert _names(source) == _names(source)


def test_what_is_not_there_or_damaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK\3\4 no archive")
    for name in ("missing", "bad.zip"):
        with pytest.raises(InvalidRequest, match=name):
            open_source(tmp_path / name)


def test_archives_keep_to_their_limits(tmp_path: Path) -> None:
    bad = ["../up.txt", "/root.txt", "C:\\x.txt", "a/../../b.txt", "bomb.txt"]
    members = dict.fromkeys(["good.txt", *bad, "__MACOSX/good.txt", ".git/x", ".Sent/cur/1"], b"x")
    source = open_source(_zipped(tmp_path / "a.zip", members | {"bomb.txt": b"\0" * 3_000_000}))
    assert _names(source) == [".Sent/cur/1", "good.txt"]
    assert sorted(file.name for file in source.left_out) == sorted(each.replace("\\", "/") for each in bad)
    assert all(file.problem for file in source.left_out)


def test_encrypted_members_are_left_out(tmp_path: Path) -> None:
    path = _zipped(tmp_path / "a.zip", {"a.txt": b"text"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    source = open_source(path)
    assert (_names(source), [file.problem for file in source.left_out]) == ([], ["It is encrypted."])


@given(st.binary(max_size=200), st.integers(1, 20))
def test_lines_cover_every_byte(data: bytes, most: int) -> None:
    found = list(lines(io.BytesIO(data), most))
    assert b"".join(data[begin:end] for _, begin, end, _ in found) == data
    assert all(text in (None, data[begin:end].rstrip(b"\r\n")) for _, begin, end, text in found)


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
