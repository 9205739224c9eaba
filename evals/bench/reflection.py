"""Reflection over HTTP, beside the rules alone."""

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.client import Client, encoded
from evals.reflection.labels import SPLITS, read_notes
from evals.timing import spread, timed_ms
from tools.reflecting.reflection import extract

LENGTH = 20_000
"""Characters."""
LIMIT = 12


def measure_reflection(measurement: Measurement, client: Client) -> None:
    measurement.say("reflections …")
    text = "\n\n".join(note.notes for split in SPLITS for note in read_notes(split))
    text = (text * (LENGTH // len(text) + 1))[:LENGTH]
    body = encoded({"content": text, "limit": LIMIT, "persist_source": False})
    count = max(5, measurement.times(60))
    timed_ms(lambda _: client.post("/api/context/reflect", body), range(3))
    found, cost = measurement.calls(lambda _: client.post("/api/context/reflect", body), range(count))
    floor = spread(timed_ms(lambda _: extract(text, limit=LIMIT), range(count)))
    measurement.figures.append(
        Figure.of(f"reflection of {LENGTH:,} characters", found, target=Target(300, 200), floor=floor.p50, note=cost)
    )
