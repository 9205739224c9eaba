"""The user's browser, if there is one."""

import sys
from collections.abc import Mapping


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open on the user's own screen."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def open_in_browser(address: str) -> bool:
    import webbrowser  # noqa: PLC0415 - looking for browsers takes a while

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
