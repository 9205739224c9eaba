"""Has a server read the notes of both splits, has pairs of statements judged, and lays the figures out as tables."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from evals.client import Client
from evals.options import Options
from evals.prepared import Prepared
from evals.reflection.asking import asked, judged, reader
from evals.reflection.labels import SPLITS, Note, Pair, read_notes, read_pairs
from evals.reflection.scoring import BANDS, Band, NotesResult, Score, score_notes, score_pairs
from evals.results import Case, Outcome, Part
from evals.runs import Journal
from evals.timing import Spread, spread, timed_ms
from tools.reflection import KINDS, Finding

TIMED_LENGTH = 20_000
"""Characters of the text that is timed: the notes of the set one after the other."""
_RUNS = 15
_BEGINNING = 160


def prepare(options: Options) -> Prepared:
    """Read the notes and the pairs. Measuring takes half a minute, and begins anew after an interruption."""
    everything = [*(note for split in SPLITS for note in read_notes(split)), *read_pairs()]
    digest = hashlib.sha256(repr(everything).encode()).hexdigest()
    measure = partial(_measure, environ=options.server)
    return Prepared({"name": options.name}, {"server": dict(options.server)}, {"reflection": digest}, measure)


def _measure(journal: Journal, environ: Mapping[str, str]) -> Outcome:
    notes = {split: read_notes(split) for split in SPLITS}
    with reader(journal.server_folder("reflection"), environ) as (client, read):
        found = {note.notes: read(note.notes) for some in notes.values() for note in some}
        answers = {pair: judged(client, pair) for pair in read_pairs()}
        took_ms = _timed(client)
    results: dict[str, NotesResult] = {split: score_notes(some, found.__getitem__) for split, some in notes.items()}
    pairs: dict[str, Mapping[str, Score]] = {
        split: score_pairs([pair for pair in answers if pair.split == split], answers.__getitem__) for split in SPLITS
    }
    document = {
        "notes": {split: _plain(result) for split, result in results.items()},
        "pairs": {split: {asks: _figures(s) for asks, s in scores.items()} for split, scores in pairs.items()},
        "reflection_of_20000_characters_ms": dataclasses.asdict(took_ms),
    }
    cases = [
        *(_note_case(note, found[note.notes]) for some in notes.values() for note in some),
        *_pair_cases(answers),
    ]
    parts = [
        Part("reflection-notes", "rules", "finding", sum(map(len, notes.values())), "F1"),
        Part("reflection-pairs", "rules", "pair", len(read_pairs()), "right"),
    ]
    return Outcome(cases, parts, markdown(results, pairs, took_ms), document)


def _note_case(note: Note, found: Sequence[Finding]) -> Case:
    score = score_notes([note], lambda _: found).overall
    values = {"F1": score.f1, "precision": score.precision, "recall": score.recall}
    question = note.notes[:_BEGINNING]
    return Case("reflection-notes", "rules", "finding", note.id, values, category=note.split, question=question)


def _pair_cases(answers: Mapping[Pair, bool]) -> Iterator[Case]:
    for number, (pair, answer) in enumerate(answers.items()):
        right = float(answer == pair.expected)
        yield Case(
            "reflection-pairs", "rules", "pair", f"{pair.asks}-{number}", {"right": right},
            category=f"{pair.split} {pair.asks}", question=f"{pair.old} / {pair.new}"[: 2 * _BEGINNING],
        )  # fmt: skip


def _timed(client: Client) -> Spread:
    text = "\n\n".join(note.notes for split in SPLITS for note in read_notes(split))
    text = (text * (TIMED_LENGTH // len(text) + 1))[:TIMED_LENGTH]
    asked(client, "We decided to warm up.")
    return spread(timed_ms(partial(asked, client), [text] * _RUNS))


def _plain(result: NotesResult) -> dict[str, object]:
    return {
        "notes": result.notes,
        "overall": _figures(result.overall),
        "any_kind": _figures(result.any_kind),
        "by_kind": {kind: _figures(score) for kind, score in result.by_kind.items()},
        "confidence": [dataclasses.asdict(band) for band in result.bands],
        "forbidden": result.forbidden,
        "forbidden_found": result.forbidden_found,
    }


def _figures(score: Score) -> dict[str, float]:
    return {
        **dataclasses.asdict(score),
        "precision": round(score.precision, 4),
        "recall": round(score.recall, 4),
        "f1": round(score.f1, 4),
    }


def markdown(results: Mapping[str, NotesResult], pairs: Mapping[str, Mapping[str, Score]], took_ms: Spread) -> str:
    """Lay the figures out: per kind, per band of confidence, pairs, time."""
    names = list(results)
    lines = [
        "| kind | " + " | ".join(f"{name} precision | recall | labels" for name in names) + " |",
        "|---|" + "---|" * (3 * len(names)),
    ]
    lines += [_row(kind, [results[name].by_kind[kind] for name in names]) for kind in KINDS]
    lines.append(_row("**all**", [results[name].overall for name in names]))
    lines.append(_row("span, any kind", [results[name].any_kind for name in names]))
    lines += [_row(asks, [pairs[name][asks] for name in names]) for asks in ("duplicate", "contradiction")]
    lines += ["", *_band_lines(results, names), ""]
    for name in names:
        result = results[name]
        lines.append(
            f"{name}: {result.notes} notes, F1 {result.overall.f1:.3f}; {result.forbidden_found} of {result.forbidden} "
            "spans found that must not be."
        )
    lines.append(
        f"A reflection of {TIMED_LENGTH:,} characters takes {took_ms.p50:.0f} ms (p50), {took_ms.p95:.0f} ms (p95), "
        f"n = {took_ms.n}."
    )
    return "\n".join(lines) + "\n"


def _row(name: str, scores: Sequence[Score]) -> str:
    cells = (f"{score.precision:.2f} | {score.recall:.2f} | {score.right + score.missed}" for score in scores)
    return f"| {name} | {' | '.join(cells)} |"


def _band_lines(results: Mapping[str, NotesResult], names: Sequence[str]) -> list[str]:
    lines = [
        "| confidence | " + " | ".join(f"{name} mean | right | findings" for name in names) + " |",
        "|---|" + "---|" * (3 * len(names)),
    ]
    for low, high in zip(BANDS, (*BANDS[1:], 1.0), strict=True):
        bands = [next((band for band in results[name].bands if band.low == low), None) for name in names]
        lines.append(f"| {low:.2f} to {high:.2f} | {' | '.join(_band(band) for band in bands)} |")
    return lines


def _band(band: Band | None) -> str:
    return f"{band.confidence:.2f} | {band.precision:.2f} | {band.n}" if band else "- | - | 0"
