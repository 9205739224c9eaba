"""Reflection over HTTP, beside what reading the notes alone takes."""

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.client import Client, encoded
from evals.reflection.labels import SPLITS, read_notes
from evals.timing import spread, timed_ms
from tools.reflection import extract

LENGTH = 20_000
"""Characters of the notes: the labelled ones one after the other."""
LIMIT = 12
"""Candidates, as by default."""
REFLECT = "reflection of 20,000 characters"


def notes() -> str:
    """Return notes of that length, of many hands and subjects."""
    text = "\n\n".join(note.notes for split in SPLITS for note in read_notes(split))
    return (text * (LENGTH // len(text) + 1))[:LENGTH]


def measure_reflection(measurement: Measurement, client: Client) -> None:
    """Time reflections that keep nothing, and the rules alone on the same notes in this process."""
    measurement.say("reflections …")
    text = notes()
    count = max(5, measurement.times(60))
    body = encoded({"content": text, "limit": LIMIT, "persist_source": False})

    def reflect(_: int) -> object:
        return client.post("/api/context/reflect", body)

    timed_ms(reflect, range(3))
    found, cost = measurement.calls(reflect, range(count))
    floor = spread(timed_ms(lambda _: extract(text, limit=LIMIT), range(count)))
    measurement.figures.append(Figure.of(REFLECT, found, target=Target(300, 200), floor=floor.p50, note=cost))
