"""`engrain bench`: the speed of a real server over HTTP, and the cost of its engines alone in the same run."""

from evals.bench.run import Options, run_bench

__all__ = ["Options", "run_bench"]
