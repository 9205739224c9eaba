"""The one way in which the demo fails: with a sentence."""


class DemoFailed(Exception):
    """What went wrong, as the user reads it."""
