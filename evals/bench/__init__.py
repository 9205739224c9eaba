"""`engrain bench`: how fast a real server is over HTTP, beside what its engines cost on their own in the same run."""

from evals.bench.run import Options, run_bench

__all__ = ["Options", "run_bench"]
