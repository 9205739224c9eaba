"""All job functions."""

from collections.abc import Mapping

from tools.crawling import crawl
from tools.experience import deferred as experience
from tools.governance import lifecycle
from tools.jobs import status
from tools.jobs.functions import JobFunction
from tools.people import sessions

FUNCTIONS: Mapping[str, JobFunction] = {
    each.name: each for module in (crawl, experience, status, sessions, lifecycle) for each in module.FUNCTIONS
}
