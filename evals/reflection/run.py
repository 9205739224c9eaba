"""Have a server read labelled notes, and judge pairs of sentences."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.client import Client
from evals.datasets.collection import digest_of
from evals.harness.asking import ask_part
from evals.harness.server import opened, served
from evals.options import Options
from evals.reflection.labels import SPLITS, Note, Pair, read_notes, read_pairs
from evals.reflection.scoring import ARM, NOTES, PAIRS, note_case, pair_case
from evals.results import Case, Part
from evals.runs import Journal, Prepared
from tools.records.entity_models import NAME_LIMIT

LIMIT = 25
"""More than any note has."""
_YES = {"duplicate": ("duplicate",), "contradiction": ("contradiction", "supersession")}


def prepare(options: Options) -> Prepared:
    """Read the labels; measuring takes half a minute."""
    notes = [note for split in SPLITS for note in read_notes(split)]
    data = {"reflection": digest_of([*notes, *read_pairs().values()])}
    return Prepared(data, lambda journal: _measure(journal, options, notes))


def _measure(journal: Journal, options: Options, notes: list[Note]) -> None:
    with (
        journal.server_data() as folder,
        served(Path(folder), options.server) as server,
        Client(server.address) as client,
    ):
        opened(client)
        reader, pairs = Reader(client), read_pairs()
        reader.read("We decided to warm up.")
        # Notes first: nothing of the pairs is kept yet that they could repeat.
        ask_part(journal, server, Part(NOTES, ARM, "finding", len(notes), "F1"), map(reader.note, notes))
        judged = (reader.pair(key, pair) for key, pair in pairs.items())
        ask_part(journal, server, Part(PAIRS, ARM, "pair", len(pairs), "right"), judged)


@dataclass(frozen=True, slots=True)
class Reader:
    client: Client

    def read(self, notes: str, **options: Any) -> list[dict[str, Any]]:
        """Return the candidates of a dry reflection."""
        body = {"content": notes, "persist_source": False, "limit": LIMIT, **options}
        candidates: list[dict[str, Any]] = self.client.post("/api/context/reflect", body)["candidates"]
        return candidates

    def note(self, note: Note) -> Case:
        candidates = sorted(self.read(note.notes), key=lambda each: -float(each["confidence"]))
        spans = [(each["kind"], each["metadata"]["span"]) for each in candidates]
        case = note_case(note, [(kind, span["start"], span["end"]) for kind, span in spans])
        return replace(case, took_ms=self.client.took_ms)

    def pair(self, key: str, pair: Pair) -> Case:
        """Store the old sentence in its own project and reflect on the new one."""
        project = self.client.post("/api/entities", {"name": "Pair", "entity_type": "project"})["id"]
        old = {"name": pair.old[:NAME_LIMIT], "content": pair.old, "entity_type": pair.kind}
        self.client.post("/api/entities?sync=true", {**old, "metadata": {"project_id": project}})
        # A label makes a finding of it, whatever its words are.
        candidates = self.read(f"{pair.kind.capitalize()}: {pair.new}", project=project)
        kinds = {each["kind"] for candidate in candidates for each in candidate["reflection_findings"]}
        return replace(pair_case(key, pair, answer=not kinds.isdisjoint(_YES[pair.asks])), took_ms=self.client.took_ms)
