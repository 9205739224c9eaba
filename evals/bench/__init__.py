"""`engrain bench`: the speed of a real server over HTTP."""

from evals.bench.run import run_bench
