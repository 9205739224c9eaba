"""Whether the analytics hold what the ledger says of tasks, named task by task."""

from collections import Counter
from collections.abc import Iterable

from stores.ledger.task_histories import TaskHistory


def compare(held: Iterable[TaskHistory], expected: Iterable[TaskHistory]) -> list[str]:
    """One sentence for each task that is missing, superfluous, held more than once or otherwise than it should be."""
    found = list(held)
    times = Counter(each.id for each in found)
    known = {each.id: each for each in found}
    wanted = {each.id: each for each in expected}
    sentences = []
    for each in sorted(known.keys() | wanted.keys()):
        if each not in known:
            sentences.append(f"task {each} is missing")
        elif each not in wanted:
            sentences.append(f"task {each} is not in the ledger")
        elif times[each] > 1:
            sentences.append(f"task {each} is held {times[each]} times")
        elif known[each].moves != wanted[each].moves:
            sentences.append(f"task {each} moved otherwise")
        elif known[each] != wanted[each]:
            sentences.append(f"task {each} is held with another project, visibility or date")
    return sentences
