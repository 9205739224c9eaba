"""Write and score the release notes of each replayed log."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.datasets.collection import readable
from evals.logs import log_folder
from evals.options import Options
from evals.release_notes.labels import LABELS, Project, read_labels
from evals.release_notes.notes import changes_in, notes_of
from evals.release_notes.replay import BEGINNING, END, replay
from evals.release_notes.scoring import ARM, SET, cases
from evals.results import Part
from evals.runs import Journal, Prepared
from stores.errors import EngrainError


def prepare(options: Options) -> Prepared:
    """Find the logs; measuring takes about a minute.

    Raises:
        EngrainError: One is missing.
    """
    folder, projects = log_folder(options), read_labels()
    logs = {project.name: (folder or Path()) / f"gitlog_{project.name}.jsonl.gz" for project in projects}
    if missing := [log.name for log in logs.values() if not log.is_file()]:
        raise EngrainError(f"There are no logs to replay: {', '.join(missing)}. Give --data PATH.")
    data = {name: hashlib.sha256(log.read_bytes()).hexdigest() for name, log in logs.items()}
    data["labels"] = hashlib.sha256(LABELS.read_bytes()).hexdigest()
    return Prepared(data, lambda journal: _measure(journal, projects, logs))


def _measure(journal: Journal, projects: Sequence[Project], logs: Mapping[str, Path]) -> None:
    commits = 0
    with tempfile.TemporaryDirectory(prefix="engrain-release-notes-") as temporary:
        for project in projects:
            with readable(logs[project.name], "a log"):
                replayed = replay(logs[project.name], Path(temporary) / project.name)
            notes = notes_of(replayed.folder, BEGINNING, END)
            commits += len(replayed.originals)
            for case in cases(project, list(changes_in(notes, replayed.originals)), replayed.originals):
                journal.add(case)
    journal.close_part(Part(SET, ARM, "change", commits, "right"))
