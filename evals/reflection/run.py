"""Has a server read the notes of both splits, has pairs of statements judged, and lays the figures out as tables."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evals.answers import ask_missing
from evals.digests import digest_of
from evals.harness.asking import close_part
from evals.harness.server import wanted_server
from evals.options import Options
from evals.prepared import Prepared
from evals.reflection.asking import Reader, judged, read, reader
from evals.reflection.cases import ARM, NOTES, PAIRS, note_case, pair_case
from evals.reflection.labels import SPLITS, Note, Pair, read_notes, read_pairs
from evals.reflection.scoring import BANDS, Band, NotesResult, Score, score_notes, score_pairs
from evals.results import Case, Outcome, Part
from evals.runs import Journal
from evals.timing import Spread, spread, timed_ms
from tools.reflection import KINDS, Finding

NAME = "reflection"
TIMED_LENGTH = 20_000
"""Characters of the text that is timed: the notes of the set one after the other."""
_RUNS = 15


def prepare(options: Options) -> Prepared:
    """Read the notes and the pairs. Measuring takes half a minute.

    Raises:
        EngrainError: The server that is named does not answer.
    """
    everything: list[Note | Pair] = [*(note for split in SPLITS for note in read_notes(split)), *read_pairs()]
    server, measure = wanted_server(options), partial(_measure, options=options)
    return Prepared(server.command, server.settings, {NAME: digest_of(everything)}, measure, server.subject)


def _measure(journal: Journal, options: Options) -> Outcome:
    notes = {split: read_notes(split) for split in SPLITS}
    with reader(journal, NAME, options) as by:
        # Notes first, as what is kept of pairs is none of what they are held against.
        _read(journal, by, [note for some in notes.values() for note in some])
        close_part(journal, by.target, Part(NOTES, ARM, "finding", sum(map(len, notes.values())), "F1"))
        _judge(journal, by)
        close_part(journal, by.target, Part(PAIRS, ARM, "pair", len(read_pairs()), "right"))
        took_ms = _timed(by)
    found = {note.notes: _kept(journal, note) for some in notes.values() for note in some}
    answers = {pair: bool(journal.beside((PAIRS, ARM, key))["answer"]) for key, pair in _pairs().items()}
    results: dict[str, NotesResult] = {split: score_notes(some, found.__getitem__) for split, some in notes.items()}
    pairs: dict[str, Mapping[str, Score]] = {
        split: score_pairs([pair for pair in answers if pair.split == split], answers.__getitem__) for split in SPLITS
    }
    document = {
        "notes": {split: _plain(result) for split, result in results.items()},
        "pairs": {split: {asks: _figures(s) for asks, s in scores.items()} for split, scores in pairs.items()},
        "reflection_of_20000_characters_ms": dataclasses.asdict(took_ms),
    }
    cases, parts = list(journal.cases.values()), list(journal.parts.values())
    return Outcome(cases, parts, markdown(results, pairs, took_ms), document)


def _read(journal: Journal, by: Reader, notes: Sequence[Note]) -> None:
    def ask(note: Note) -> tuple[Case, Mapping[str, Any]]:
        found = read(by, note.notes)
        case = dataclasses.replace(note_case(note, found), took_ms=by.client.took_ms)
        return case, {"findings": [dataclasses.asdict(finding) for finding in found]}

    ask_missing(journal, {(NOTES, ARM, note.id): partial(ask, note) for note in notes})


def _kept(journal: Journal, note: Note) -> list[Finding]:
    kept: list[dict[str, Any]] = journal.beside((NOTES, ARM, note.id))["findings"]
    return [Finding(**{**each, "tags": tuple(each["tags"]), "sensitivity_flags": ()}) for each in kept]


def _judge(journal: Journal, by: Reader) -> None:
    def ask(key: str, pair: Pair) -> tuple[Case, Mapping[str, Any]]:
        answer = judged(by, pair)
        # Of a pair, the time is that of having the new sentence read, not of storing the old one.
        case = dataclasses.replace(pair_case(key, pair, answer=answer), took_ms=by.client.took_ms)
        return case, {"answer": answer}

    ask_missing(journal, {(PAIRS, ARM, key): partial(ask, key, pair) for key, pair in _pairs().items()})


def _pairs() -> dict[str, Pair]:
    """The pairs by the ids of their cases."""
    return {f"{pair.asks}-{number}": pair for number, pair in enumerate(dict.fromkeys(read_pairs()))}


def _timed(by: Reader) -> Spread:
    text = "\n\n".join(note.notes for split in SPLITS for note in read_notes(split))
    text = (text * (TIMED_LENGTH // len(text) + 1))[:TIMED_LENGTH]
    return spread(timed_ms(by.asked, [text] * _RUNS))


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
