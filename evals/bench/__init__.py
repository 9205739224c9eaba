"""`engrain bench`: the speed of a real server over HTTP."""

from evals.bench.all_stages import run_bench
