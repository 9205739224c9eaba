"""The one error of this package."""


class ReleaseNotesFailed(Exception):
    """A sentence for the user; exit code 1."""
