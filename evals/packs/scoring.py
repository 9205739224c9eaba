"""Compares context packs with their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from evals.metrics import Interval, bootstrap
from evals.packs.labels import Goal


@dataclass(frozen=True, slots=True)
class Packed:
    """What one goal got."""

    goal: Goal
    keys: tuple[str, ...]
    """The records of the pack."""
    characters: int
    """Of the Markdown."""
    took_ms: float

    @property
    def recall(self) -> float:
        """The share of what must be in the pack that is."""
        return len(self.goal.must.intersection(self.keys)) / len(self.goal.must)

    @property
    def missed(self) -> list[str]:
        """What must be in the pack and is not."""
        return sorted(self.goal.must.difference(self.keys))

    @property
    def wrong(self) -> list[str]:
        """What must not be in the pack and is."""
        return sorted(self.goal.must_not.intersection(self.keys))

    @property
    def off_topic(self) -> list[str]:
        """What has nothing to do with the goal and is in the pack."""
        return sorted(self.goal.off_topic.intersection(self.keys))


@dataclass(frozen=True, slots=True)
class PackScore:
    """How some packs did."""

    goals: int
    recall: Interval
    """Mean over the goals."""
    must: int
    must_found: int
    with_wrong: int
    """Packs that hold something that must not be in them."""
    off_topic: int
    off_topic_found: int
    with_off_topic: int
    items: float
    """Per pack."""
    characters: float
    """Of the Markdown, per pack."""
    longest: int


def score_packs(packs: Sequence[Packed]) -> PackScore:
    """Sum up; there is at least one pack."""
    # Drawn in the order of the ids, as in every table of a report, so that both tell one interval.
    recall = bootstrap([pack.recall for pack in packs], [pack.goal.id for pack in packs])
    return PackScore(
        goals=len(packs),
        recall=recall,
        must=sum(len(pack.goal.must) for pack in packs),
        must_found=sum(len(pack.goal.must) - len(pack.missed) for pack in packs),
        with_wrong=sum(bool(pack.wrong) for pack in packs),
        off_topic=sum(len(pack.goal.off_topic) for pack in packs),
        off_topic_found=sum(len(pack.off_topic) for pack in packs),
        with_off_topic=sum(bool(pack.off_topic) for pack in packs),
        items=round(mean(len(pack.keys) for pack in packs), 2),
        characters=round(mean(pack.characters for pack in packs), 1),
        longest=max(pack.characters for pack in packs),
    )
