"""`engrain bench` runs to its end against a real server and leaves its report; nothing here judges a time."""

import json
from pathlib import Path

import pytest

from evals.bench import agents, all_stages, memory, run_bench

REQUESTS = {
    "GET entity", "create, acknowledged (sync=false)", "create, in every index (sync=true)", "hybrid search",
    "reflection of 20,000 characters", "context pack of 24 items",
}  # fmt: skip


@pytest.mark.slow
def test_a_small_measurement_has_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "QUICK_MEMORIES", 30)
    monkeypatch.setattr(memory, "AGENTS", 8)
    monkeypatch.setattr(agents, "AGENTS", 2)
    monkeypatch.setattr(agents, "SECONDS", 40)
    monkeypatch.setattr(all_stages, "QUICK_STARTS", 1)
    said: list[str] = []
    report = tmp_path / "bench.json"
    assert run_bench(25, said.append, quick=True, json_file=report) == 0, said
    found = json.loads(report.read_text())
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert set(figures) > REQUESTS
    # What authentication takes is a difference of two medians, and may be lost in their noise.
    assert all(figure["value"] > 0 for name, figure in figures.items() if "authentication" not in name)
    assert {"authentication by access token, more than without"} <= set(figures)
    assert {"cores", "python", "lancedb", "tantivy"} <= set(found["machine"])
    assert any("| hybrid search" in line for line in said)
    of_graph = {"get with its neighbours, of a large graph", "related, of a large graph", "traverse to depth 3"}
    others = {"list page with filters", "status of 64 jobs", "experience of 1 MB, acknowledged", "engrain search"}
    assert {*of_graph, *others, "remote model, 50 ms per request"} <= set(figures)
