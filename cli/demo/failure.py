"""Failure of the demo."""


class DemoFailed(Exception):
    pass
