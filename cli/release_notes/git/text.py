"""Bytes of a repository as text: whatever somebody committed in whatever encoding comes out as a string."""

_LAST_RESORT = "cp1252"


def decoded(raw: bytes, declared: str | None = None) -> str:
    """Decode a message or a name; every line ending is a line feed, and no NUL is left.

    UTF-8 where the bytes are UTF-8, whatever the commit declares (most wrong declarations are of that kind), then
    the declared encoding, then Windows-1252; bytes that have no meaning there become U+FFFD.
    """
    return _text(raw, declared).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def decoded_path(raw: bytes) -> str:
    """Decode a path. Two different paths may look the same afterwards; newlines stay, they are part of the name."""
    return raw.decode("utf-8", errors="replace")


def _text(raw: bytes, declared: str | None) -> str:
    for encoding in ("utf-8", declared or _LAST_RESORT):
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    return raw.decode(_LAST_RESORT, errors="replace")


def unquoted(said: str) -> str:
    """Return what the library says without its full stop and the quotes that an error of Python's puts around it."""
    said = said.strip().rstrip(".")
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] and said[0] in "'\"" else said
