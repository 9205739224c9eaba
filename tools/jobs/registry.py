"""All job functions."""

from collections.abc import Mapping

from tools.experience import deferred as experience
from tools.jobs import status
from tools.jobs.functions import JobFunction
from tools.people import sessions

_ALL: tuple[JobFunction, ...] = (*experience.FUNCTIONS, *status.FUNCTIONS, *sessions.FUNCTIONS)

FUNCTIONS: Mapping[str, JobFunction] = {function.name: function for function in _ALL}
