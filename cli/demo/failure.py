"""The one way in which the demo fails: with a sentence."""


class DemoFailed(Exception):  # noqa: N818 - it is caught and its sentence printed
    """What went wrong, as the user reads it."""
