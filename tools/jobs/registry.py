"""All job functions."""

from collections.abc import Mapping

from tools.experience import deferred as experience
from tools.jobs.functions import JobFunction

_ALL: tuple[JobFunction, ...] = (*experience.FUNCTIONS,)

FUNCTIONS: Mapping[str, JobFunction] = {function.name: function for function in _ALL}
