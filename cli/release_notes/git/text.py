"""Decode bytes of a repository in any encoding."""

_LAST_RESORT = "cp1252"


def decoded(raw: bytes, declared: str | None = None) -> str:
    """Decode a message or name, with line feeds and without NUL.

    Tries UTF-8, then the declared encoding, then Windows-1252 with U+FFFD.
    """
    return _text(raw, declared).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def decoded_path(raw: bytes) -> str:
    """Decode a path. Different paths may look the same; newlines stay."""
    return raw.decode("utf-8", errors="replace")


def _text(raw: bytes, declared: str | None) -> str:
    for encoding in ("utf-8", declared or _LAST_RESORT):
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    return raw.decode(_LAST_RESORT, errors="replace")


def unquoted(said: str) -> str:
    """Strip the full stop and quotes of a library's message."""
    said = said.strip().rstrip(".")
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] and said[0] in "'\"" else said
