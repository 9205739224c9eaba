"""`engrain bench`: the speed of a real server over HTTP, beside the cost of its engines alone."""

from evals.bench.run import Options, run_bench

__all__ = ["Options", "run_bench"]
