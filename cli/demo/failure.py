"""Failure of the demo."""


class DemoFailed(Exception):
    """A sentence for the user."""
