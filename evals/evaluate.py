"""`engrain eval`: labelled collections in, a table of retrieval quality out."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from evals.datasets import READERS, Collection
from evals.quality import CollectionResult, LaneResult, measure
from evals.report import deliver
from stores.errors import EngrainError

NOTHING_TO_MEASURE = 2
"""Exit code when the data is not there."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure and where to write it."""

    data: Path | None
    names: Sequence[str] = ()
    """Collections; empty for all that the folder holds."""
    limit: int | None = None
    """Questions per collection, drawn by a fixed seed."""
    json_file: Path | None = None
    markdown_file: Path | None = None


def default_data() -> Path | None:
    """Return `shared/data` beside the checkout, where there is one."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


def run_eval(options: Options, say: Callable[[str], None]) -> int:
    """Measure each collection and report. Returns the exit code: 0, or 2 with a sentence when there is no data."""
    try:
        found = folders(options)
        start = time.perf_counter()
        results = []
        for name, folder in found.items():
            say(f"{name}: loading and asking …")
            results.append(anyio.run(measure, read(name, folder, options.limit)))
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    document = {
        "took_s": round(time.perf_counter() - start, 1),
        "limit": options.limit,
        "collections": [dataclasses.asdict(result) for result in results],
    }
    deliver(markdown(results), document, say=say, json_file=options.json_file, markdown_file=options.markdown_file)
    return 0


def folders(options: Options) -> dict[str, Path]:
    """Find the collections that are wanted, by name.

    Raises:
        EngrainError: There is none, or one that was named is missing.
    """
    unknown = set(options.names) - set(READERS)
    if unknown:
        raise EngrainError(f"There is no data set {', '.join(sorted(unknown))}; there are {', '.join(READERS)}.")
    data = options.data or default_data()
    if data is None or not data.is_dir():
        where = f"{data} is no folder" if data else "no folder was named"
        raise EngrainError(
            f"There is no labelled data: {where}. Give --data PATH with one of the subfolders {', '.join(READERS)}."
        )
    found = {name: data / name for name in options.names or READERS if (data / name).is_dir()}
    missing = set(options.names) - set(found)
    if missing or not found:
        raise EngrainError(f"{data} holds no folder {' or '.join(sorted(missing or READERS))}.")
    return found


def read(name: str, folder: Path, limit: int | None) -> Collection:
    """Read a collection, or a sample of its questions.

    Raises:
        EngrainError: It is damaged.
    """
    try:
        collection = READERS[name](folder)
    except (OSError, KeyError, ValueError) as error:
        raise EngrainError(f"{folder} cannot be read as {name}: {type(error).__name__} {error}.") from error
    return collection if limit is None else collection.sample(limit)


def markdown(results: Sequence[CollectionResult]) -> str:
    """Lay results out as one table; intervals are 95 %, bootstrapped over independent questions or groups of them."""
    metrics = list(results[0].results[0].metrics)
    lines = [
        f"| data set | unit | texts | questions | lanes | {' | '.join(metrics)} | search ms p50 / p95 |",
        "|---|---|---|---|---|" + "---|" * (len(metrics) + 1),
    ]
    for result in results:
        for lane in result.results:
            lines.append(_row(result, lane, result.name, result.questions))
            lines += [
                _row(result, dataclasses.replace(lane, metrics=figures), f"… {kind}", figures[metrics[0]].n)
                for kind, figures in lane.by_kind.items()
            ]
    return "\n".join(lines) + "\n"


def _row(result: CollectionResult, lane: LaneResult, name: str, questions: int) -> str:
    figures = " | ".join(f"{i.mean:.3f} [{i.low:.3f}, {i.high:.3f}]" for i in lane.metrics.values())
    times = f"{lane.search_ms.p50:.1f} / {lane.search_ms.p95:.1f}"
    return f"| {name} | {result.unit} | {result.texts} | {questions} | {lane.lanes} | {figures} | {times} |"
