"""One spelling for each server, and nothing else is one."""

import pytest

from cli.client.failure import CommandFailed, ExitCode
from cli.client.server import is_in_clear, is_local, server_address


@pytest.mark.parametrize(
    ("typed", "address"),
    [("http://127.0.0.1:8420", "http://127.0.0.1:8420"),
     (" https://Engrain.Example.org/ ", "https://engrain.example.org"),
     ("https://example.org:443/engrain/", "https://example.org/engrain"),
     ("http://example.org:80", "http://example.org"), ("localhost:8420", "http://localhost:8420"),
     ("example.org", "https://example.org"), ("[::1]:8420", "http://[::1]:8420"), ("HTTP://[::1]", "http://[::1]")],
)  # fmt: skip
def test_an_address_has_one_spelling(typed: str, address: str) -> None:
    assert server_address(typed) == address
    assert server_address(address) == address


@pytest.mark.parametrize(
    "typed",
    ["", "http://", "ftp://example.org", "file:///etc/passwd", "javascript:alert(1)", "http://ada:secret@example.org",
     "http://example.org?x=1", "http://example.org#x", "http://example.org:99999", "http://exa mple.org",
     "http://example.org/\x1b[2J", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_is_a_mistake_of_the_command_line(typed: str) -> None:
    with pytest.raises(CommandFailed) as failed:
        server_address(typed)
    assert failed.value.code == ExitCode.USAGE


def test_only_the_way_to_another_machine_can_be_overheard() -> None:
    for address in ("http://localhost", "http://127.0.0.5", "http://[::1]:1"):
        assert is_local(address)
        assert not is_in_clear(address)
    assert is_in_clear("http://example.org")
    assert not is_in_clear("https://example.org")
