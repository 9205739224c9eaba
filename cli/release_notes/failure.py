"""The one error of this package."""


class ReleaseNotesFailed(Exception):
    """One sentence for the user; the command prints it after `Error: ` and exits with 1."""
