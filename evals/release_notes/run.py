"""Replays each log, has the command write its release notes, and lays the figures out."""

import dataclasses
import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evals.datasets.collection import UNREADABLE
from evals.logs import log_folder
from evals.options import Options
from evals.prepared import Prepared
from evals.reflection.scoring import Score
from evals.release_notes.labels import LABELS, Project, read_labels
from evals.release_notes.notes import changes_in, notes_of
from evals.release_notes.replay import BEGINNING, END, Replay, replay
from evals.release_notes.scoring import WITHIN, Result, score
from evals.results import Case, Outcome, Part
from stores.errors import EngrainError

RECALL, PRECISION, FEATURES = 0.9, 0.8, 0.8
"""What has to be reached: recall and precision of what is breaking, recall of features."""


def prepare(options: Options) -> Prepared:
    """Find the logs. Measuring takes about a minute.

    Raises:
        EngrainError: They are not there.
    """
    folder = log_folder(options)
    projects = read_labels()
    logs = {project.name: folder / f"gitlog_{project.name}.jsonl.gz" for project in projects} if folder else {}
    missing = [log.name for log in logs.values() if not log.is_file()]
    if missing or not logs:
        what = ", ".join(missing) or "no folder was named"
        raise EngrainError(f"There are no logs to replay: {what}. Give --data PATH.")
    digests = {name: hashlib.sha256(log.read_bytes()).hexdigest() for name, log in logs.items()}
    digests["labels"] = hashlib.sha256(LABELS.read_bytes()).hexdigest()
    return Prepared({"name": options.name}, {}, digests, lambda _: _measure(projects, logs))


def _measure(projects: Sequence[Project], logs: Mapping[str, Path]) -> Outcome:
    start = time.perf_counter()
    results = []
    with tempfile.TemporaryDirectory(prefix="engrain-release-notes-") as temporary:
        for project in projects:
            replayed = _replayed(logs[project.name], Path(temporary) / project.name)
            notes = notes_of(replayed.folder, BEGINNING, END)
            results.append(score(project, list(changes_in(notes, replayed.originals)), replayed.originals))
    document = {
        "took_s": round(time.perf_counter() - start, 1),
        "within": WITHIN,
        "projects": [_plain(result) for result in results],
    }
    parts = [Part(f"notes {result.project}", "rules", "change", result.commits, "right") for result in results]
    return Outcome([case for result in results for case in _cases(result)], parts, markdown(results), document)


def _replayed(log: Path, folder: Path) -> Replay:
    try:
        return replay(log, folder)
    except UNREADABLE as error:
        raise EngrainError(f"{log} cannot be read as a log: {type(error).__name__} {error}.") from error


def _cases(result: Result) -> Iterator[Case]:
    for each in result.judged:
        right = {"right": float(each.right)}
        yield Case(
            f"notes {result.project}", "rules", "change", f"{each.what} {each.id}", right, category=each.what,
            question=each.text,
        )  # fmt: skip


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
