"""`engrain eval synthesis`: what documents cite of what is needed, what sources bear out, and gaps."""

from evals.synthesis.labels import SectionRequest, WantedSection, read_requests
from evals.synthesis.run import prepare
from evals.synthesis.scoring import Drafted, borne_out, score

__all__ = ["Drafted", "SectionRequest", "WantedSection", "borne_out", "prepare", "read_requests", "score"]
