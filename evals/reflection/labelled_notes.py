"""Have a server read labelled notes and judge pairs of sentences; match its findings with the labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from evals.client import Client
from evals.datasets.collection import digest_of, json_lines
from evals.harness.server import served
from evals.runs import Case, Journal, Options, Part, Prepared
from tools.records.entity_models import NAME_LIMIT
from tools.reflecting.reflection.finding import KINDS

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The grammar is tuned on `dev` only."""
FOLDER = Path(__file__).parent


Span = tuple[str, int, int]
"""Kind, start and end."""


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    split: Split
    form: str
    notes: str
    expected: tuple[Span, ...]
    forbidden: tuple[Span, ...]
    """Cues that are not findings: questions, quotations, refuted statements."""


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
    if wrong := [entry["kind"] for entry in row["expected"] if entry["kind"] not in KINDS]:
        raise ValueError(f"{row['id']}: there is no kind {wrong[0]}.")
    expected = tuple(_span(row, entry["kind"], entry["text"]) for entry in row["expected"])
    forbidden = tuple(_span(row, "", text) for text in row["forbidden"])
    return Note(row["id"], row["split"], row["form"], row["notes"], expected, forbidden)


def _span(row: dict[str, Any], kind: str, text: str) -> Span:
    notes = row["notes"]
    if not text or notes.count(text) != 1:
        raise ValueError(f"{row['id']}: {text!r} stands {notes.count(text)} times in the notes, not once.")
    start = notes.index(text)
    return kind, start, start + len(text)


OVERLAP = 0.5
NOTES, PAIRS, ARM = "reflection-notes", "reflection-pairs", "rules"
_SHOWN, _BEGINNING = 3, 160


def scores(right: int, found: int, wanted: int) -> dict[str, float]:
    """Return the measures of a note; without labels they are 1 if nothing is found, else 0."""
    if not wanted:
        return dict.fromkeys(("F1", "precision", "recall"), float(not found))
    return {"F1": 2 * right / (found + wanted), "precision": right / max(1, found), "recall": right / wanted}


def note_case(note: Note, found: Sequence[Span]) -> Case:
    """Compare findings, the surest first, with labels; one that meets a label goes by its span."""
    missed, ids = list(note.expected), []
    for each in found:
        near = (label for label in missed if label[0] == each[0] and overlap(each, label) >= OVERLAP)
        label = next(near, None)
        if label is not None:
            missed.remove(label)
        ids.append(_id(label or each))
    values = scores(len(note.expected) - len(missed), len(found), len(note.expected))
    crossed = any(overlap(each, no) >= OVERLAP for each in found for no in note.forbidden)
    return Case(
        NOTES, ARM, "finding", note.id, {**values, "nothing forbidden": float(not crossed)}, category=note.split,
        question=note.notes[:_BEGINNING], found=tuple(ids),
        wanted={_id(label): 1 for label in note.expected},
        best=[_text(note, each) for each in found[:_SHOWN]],
        missed=[f"{label[0]}: {_text(note, label)}" for label in missed[:_SHOWN]],
    )  # fmt: skip


def overlap(one: Span, other: Span) -> float:
    """Intersection over union of two spans of any kinds."""
    shared = max(0, min(one[2], other[2]) - max(one[1], other[1]))
    return shared / ((one[2] - one[1]) + (other[2] - other[1]) - shared) if shared else 0.0


def _id(span: Span) -> str:
    kind, start, end = span
    return f"{kind} {start}-{end}"


def _text(note: Note, span: Span) -> str:
    return " ".join(note.notes[slice(*span[1:])].split())[:_BEGINNING]


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
        Client(server.address) as anybody,
        anybody.signed_up("reader") as client,
    ):
        pairs = read_pairs()
        _read(client, "We decided to warm up.")
        # Notes first: nothing of the pairs is kept yet that they could repeat.
        read = (_read_note(client, note) for note in notes)
        journal.add(Part(NOTES, ARM, "finding", len(notes), "F1"), read, server.process.pid)
        judged = (_judge_pair(client, key, pair) for key, pair in pairs.items())
        journal.add(Part(PAIRS, ARM, "pair", len(pairs), "right"), judged, server.process.pid)


def _read(client: Client, notes: str, **options: Any) -> list[dict[str, Any]]:
    body = {"content": notes, "persist_source": False, "limit": LIMIT, **options}
    candidates: list[dict[str, Any]] = client.post("/api/context/reflect", body)["candidates"]
    return candidates


def _read_note(client: Client, note: Note) -> Case:
    candidates = sorted(_read(client, note.notes), key=lambda each: -float(each["confidence"]))
    spans = [(each["kind"], each["metadata"]["span"]) for each in candidates]
    case = note_case(note, [(kind, span["start"], span["end"]) for kind, span in spans])
    return replace(case, took_ms=client.took_ms)


def _judge_pair(client: Client, key: str, pair: Pair) -> Case:
    # The old sentence is stored in a project of its own, where the new one is read.
    project = client.post("/api/entities", {"name": "Pair", "entity_type": "project"})["id"]
    old = {"name": pair.old[:NAME_LIMIT], "content": pair.old, "entity_type": pair.kind}
    client.post("/api/entities?sync=true", {**old, "metadata": {"project_id": project}})
    # A label makes a finding of it, whatever its words are.
    candidates = _read(client, f"{pair.kind.capitalize()}: {pair.new}", project=project)
    kinds = {each["kind"] for candidate in candidates for each in candidate["reflection_findings"]}
    answer = not kinds.isdisjoint(_YES[pair.asks])
    return Case(
        PAIRS, ARM, "pair", key, {"right": float(answer == pair.expected)}, category=f"{pair.split} {pair.asks}",
        question=f"{pair.old} / {pair.new}", wanted={pair.asks: 1} if pair.expected else {},
        found=(pair.asks,) if answer else (), took_ms=client.took_ms,
    )  # fmt: skip
