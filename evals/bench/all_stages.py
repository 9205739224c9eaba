"""The bench: one server process and one client over HTTP on loopback."""

import dataclasses
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from evals.bench.agents import measure_agents
from evals.bench.graph import measure_graph
from evals.bench.history import measure_imports, measure_release_notes
from evals.bench.ledger import measure_governance, measure_jobs
from evals.bench.measurement import Figure, Measurement, table
from evals.bench.memory import measure_memory
from evals.bench.remote_model import measure_remote_model
from evals.bench.stages import measure_server, measure_starts
from evals.bench.texts import records
from evals.machine import library_versions, machine
from stores.errors import EngrainError

ENTITIES, QUICK_ENTITIES = 10_000, 1_000
STARTS, QUICK_STARTS = 5, 3
STAGES = (
    measure_memory, measure_remote_model, measure_graph, measure_jobs, measure_governance, measure_agents,
    measure_imports, measure_release_notes,
)  # fmt: skip
"""Each in a folder of its own, after those that follow each other in one."""


def run_bench(entities: int | None, say: Callable[[str], None], *, quick: bool, json_file: Path | None) -> int:
    """Measure for about twenty minutes, print the table, write the JSON; return 0 even if a target is missed."""
    start = time.perf_counter()
    count = entities or (QUICK_ENTITIES if quick else ENTITIES)
    measurement = Measurement(records(count), quick, say)
    try:
        figures = [*_serve_and_measure(measurement, QUICK_STARTS if quick else STARTS)]
    except EngrainError as error:
        say(f"The measurement ended early: {error.message}")
        return 1
    report = {
        "machine": {**machine(), **library_versions()},
        "entities": count,
        "took_s": round(time.perf_counter() - start, 1),
        "http_round_trip_ms": measurement.round_trip_ms,
        "figures": [{**dataclasses.asdict(figure), "verdict": figure.verdict} for figure in figures],
    }
    say(table(figures))
    say(_explanation(report))
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2), encoding="utf-8")
    return 0


def _serve_and_measure(measurement: Measurement, starts: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="engrain-bench-") as folder:
        empty = [Path(folder) / f"empty{number}" for number in range(starts)]
        full = Path(folder) / "full"
        yield measure_starts(measurement, "start to ready, empty folder", empty)
        yield from measure_server(measurement, full)
        yield measure_starts(measurement, f"start to ready, {len(measurement.texts)} entities", [full] * starts)
        for stage in STAGES:
            yield from stage(measurement, Path(folder) / stage.__name__)


def _explanation(report: dict[str, object]) -> str:
    return (
        f"\n{report['entities']} entities in one organization, one client, {report['took_s']} s in all;"
        f" {report['machine']}.\n"
        f"The cheapest request (GET /api/health) takes {report['http_round_trip_ms']:.2f} ms; it is in every figure of"
        " a request.\n"
        "`fixed loop`: time of 200,000 additions in the interpreter before and after that row. Compare only rows and"
        " runs of the same pace."
    )
