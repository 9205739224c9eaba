"""Replays each log, lets it be analysed, and lays the figures out."""

import dataclasses
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.evaluate import NOTHING_TO_MEASURE, default_data
from evals.reflection.scoring import Score
from evals.release_notes.labels import read_labels
from evals.release_notes.replay import BEGINNING, END, replay
from evals.release_notes.scoring import WITHIN, Found, Result, score
from evals.report import deliver

Analyse = Callable[[Path, str, str], Sequence[Found]]
"""Folder, older and newer reference to changes, best first. The command line hands it in."""
RECALL, PRECISION, FEATURES = 0.9, 0.8, 0.8
"""What has to be reached: recall and precision of what is breaking, recall of features."""


@dataclass(frozen=True, slots=True)
class Options:
    """Where the logs are, and where to write the figures besides the screen."""

    data: Path | None = None
    json_file: Path | None = None
    markdown_file: Path | None = None


def run_release_notes_eval(options: Options, analyse: Analyse, say: Callable[[str], None]) -> int:
    """Measure and report. Returns the exit code: 0, or 2 with a sentence when the logs are not there."""
    data = options.data or default_data()
    folder = data / "corpora" if data is not None and (data / "corpora").is_dir() else data
    projects = read_labels()
    logs = {project.name: folder / f"gitlog_{project.name}.jsonl.gz" for project in projects} if folder else {}
    missing = [log.name for log in logs.values() if not log.is_file()]
    if missing or not logs:
        say(f"There are no logs to replay: {', '.join(missing) or 'no folder was named'}. Give --data PATH.")
        return NOTHING_TO_MEASURE
    start = time.perf_counter()
    results = []
    with tempfile.TemporaryDirectory(prefix="engrain-release-notes-") as temporary:
        for project in projects:
            replayed = replay(logs[project.name], Path(temporary) / project.name)
            results.append(score(project, analyse(replayed.folder, BEGINNING, END), replayed.originals))
    document = {
        "took_s": round(time.perf_counter() - start, 1),
        "within": WITHIN,
        "projects": [_plain(result) for result in results],
    }
    report = markdown(results)
    deliver(report, document, say=say, json_file=options.json_file, markdown_file=options.markdown_file)
    return 0


def _plain(result: Result) -> dict[str, object]:
    return {
        **dataclasses.asdict(result),
        "breaking_precision": round(result.breaking.precision, 4),
        "breaking_recall": round(result.breaking.recall, 4),
        "feature_recall": round(result.features.recall, 4),
    }


def markdown(results: Sequence[Result]) -> str:
    """Lay the figures out: by project, then of what was tuned on, of what was held out, and of all."""
    lines = [
        "| project | commits | breaking recall | labels | breaking precision | called | debatable | "
        f"features among the first {WITHIN} | labels | changes told |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_row(f"{result.project} ({result.split})", [result]) for result in results),
    ]
    splits = dict.fromkeys(result.split for result in results)
    lines += [_row(f"**{split}**", [result for result in results if result.split == split]) for split in splits]
    lines.append(_row("**all**", results))
    lines += [
        "",
        f"Wanted: recall of breaking changes {RECALL}, precision {PRECISION}, recall of features {FEATURES}.",
        "",
    ]
    lines += [f"- {result.project}: {surprise}" for result in results for surprise in result.surprises]
    return "\n".join(lines) + "\n"


def _row(name: str, results: Sequence[Result]) -> str:
    breaking, features = _sum([one.breaking for one in results]), _sum([one.features for one in results])
    wanted, called = breaking.right + breaking.missed, breaking.right + breaking.wrong
    cells = (
        name,
        str(sum(one.commits for one in results)),
        f"{breaking.recall:.2f}" if wanted else "-",
        str(wanted),
        f"{breaking.precision:.2f}" if called else "-",
        str(called),
        str(sum(one.debatable for one in results)),
        f"{features.recall:.2f}",
        str(features.right + features.missed),
        str(sum(one.told for one in results)),
    )
    return f"| {' | '.join(cells)} |"


def _sum(scores: Sequence[Score]) -> Score:
    return Score(sum(one.right for one in scores), sum(one.wrong for one in scores), sum(one.missed for one in scores))
