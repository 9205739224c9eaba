"""All job functions."""

from collections.abc import Mapping

from tools.jobs.functions import JobFunction

_ALL: tuple[JobFunction, ...] = ()

FUNCTIONS: Mapping[str, JobFunction] = {function.name: function for function in _ALL}
