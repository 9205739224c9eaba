"""Have a server read labelled notes and judge pairs of sentences; match its findings with the labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from evals.client import Client
from evals.datasets.collection import digest_of, json_lines
from evals.harness.asking import ask_part
from evals.harness.server import opened, served
from evals.options import Options
from evals.results import Case, Part
from evals.runs import Journal, Prepared
from tools.records.entity_models import NAME_LIMIT
from tools.reflecting.reflection.finding import KINDS, Kind

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The grammar is tuned on `dev` only."""
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Label:
    """The span `notes[start:end]`."""

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    split: Split
    form: str
    notes: str
    expected: tuple[Label, ...]
    forbidden: tuple[tuple[int, int], ...]
    """Cues that are no finding: questions, quotations, refuted statements."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences; expected if the second duplicates or contradicts the first."""

    asks: Literal["duplicate", "contradiction"]
    split: Split
    new: str
    old: str
    expected: bool
    kind: Literal["decision", "task"] = "decision"


def read_notes(split: Split, folder: Path = FOLDER) -> list[Note]:
    """Return the notes of a split; ValueError for an unknown kind, and a label that is not once in its notes."""
    return [_note(row) for row in json_lines(folder / f"notes-{split}.jsonl")]


def read_pairs(folder: Path = FOLDER) -> dict[str, Pair]:
    pairs = dict.fromkeys(Pair(**row) for row in json_lines(folder / "pairs.jsonl"))
    return {f"{pair.asks}-{number}": pair for number, pair in enumerate(pairs)}


def _note(row: dict[str, Any]) -> Note:
    notes = row["notes"]
    if wrong := [entry["kind"] for entry in row["expected"] if entry["kind"] not in KINDS]:
        raise ValueError(f"{row['id']}: there is no kind {wrong[0]}.")
    labels = [Label(entry["kind"], *_span(notes, entry["text"], row["id"])) for entry in row["expected"]]
    forbidden = [_span(notes, text, row["id"]) for text in row["forbidden"]]
    return Note(row["id"], row["split"], row["form"], notes, tuple(labels), tuple(forbidden))


def _span(notes: str, text: str, note: str) -> tuple[int, int]:
    if not text or notes.count(text) != 1:
        raise ValueError(f"{note}: {text!r} stands {notes.count(text)} times in the notes, not once.")
    start = notes.index(text)
    return start, start + len(text)


OVERLAP = 0.5
NOTES, PAIRS, ARM = "reflection-notes", "reflection-pairs", "rules"
_SHOWN, _BEGINNING = 3, 160
Found = tuple[str, int, int]
"""Kind, start and end."""


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 0.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 0.0

    @property
    def f1(self) -> float:
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both else 0.0


def note_case(note: Note, found: Sequence[Found]) -> Case:
    """Compare findings, the surest first, with labels."""
    met = _labels_met(note, found)
    missed = [label for label in note.expected if label not in met]
    pairs = zip(found, met, strict=True)
    ids = [_id(label.kind, label.start, label.end) if label else _id(*each) for each, label in pairs]
    right = sum(label is not None for label in met)
    score = Score(right, len(found) - right, len(missed))
    values = {"F1": score.f1, "precision": score.precision, "recall": score.recall}
    if not note.expected:
        values = dict.fromkeys(values, float(not found))
    crossed = any(overlap(each[1:], no) >= OVERLAP for each in found for no in note.forbidden)
    return Case(
        NOTES, ARM, "finding", note.id, {**values, "nothing forbidden": float(not crossed)}, category=note.split,
        question=note.notes[:_BEGINNING], found=tuple(ids),
        wanted={_id(label.kind, label.start, label.end): 1 for label in note.expected},
        best=[_text(note, each[1:]) for each in found[:_SHOWN]],
        missed=[f"{label.kind}: {_text(note, (label.start, label.end))}" for label in missed[:_SHOWN]],
    )  # fmt: skip


def pair_case(key: str, pair: Pair, *, answer: bool) -> Case:
    return Case(
        PAIRS, ARM, "pair", key, {"right": float(answer == pair.expected)}, category=f"{pair.split} {pair.asks}",
        question=f"{pair.old} / {pair.new}", wanted={pair.asks: 1} if pair.expected else {},
        found=(pair.asks,) if answer else (),
    )  # fmt: skip


def tally(cases: Iterable[Case], kind: str = "") -> Score:
    """Add up cases, of one kind or all."""
    right = wrong = missed = 0
    for case in cases:
        found = [each for each in case.found if not kind or each.split()[0] == kind]
        wanted = {each for each in case.wanted if not kind or each.split()[0] == kind}
        met = len(wanted.intersection(found))
        right, wrong, missed = right + met, wrong + len(found) - met, missed + len(wanted) - met
    return Score(right, wrong, missed)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union."""
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / ((one[1] - one[0]) + (other[1] - other[0]) - shared) if shared else 0.0


def _labels_met(note: Note, found: Sequence[Found]) -> list[Label | None]:
    left, met = list(note.expected), []
    for kind, *span in found:
        near = (label for label in left if overlap((span[0], span[1]), (label.start, label.end)) >= OVERLAP)
        one = next((label for label in near if label.kind == kind), None)
        if one is not None:
            left.remove(one)
        met.append(one)
    return met


def _id(kind: str, start: int, end: int) -> str:
    return f"{kind} {start}-{end}"


def _text(note: Note, span: tuple[int, int]) -> str:
    return " ".join(note.notes[slice(*span)].split())[:_BEGINNING]


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
