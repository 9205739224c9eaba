"""Records that rest on a raw memory: they follow its corrections."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from stores.records import Entity, source_ids
from tools.frame.json_values import texts_in
from tools.governance.lifecycle import is_withheld, placed
from tools.records.derivation import EXCERPT
from tools.records.entity_models import CONTENT_LIMIT
from tools.records.trust import BEFORE, DOUBTFUL, TRUST, trust_of
from tools.text.sentences import sentences

QUOTE_CHARACTERS = 24
"""Least length of a sentence that counts as quoted."""
RUN, SHORT = 40, 8  # least length of a piece, and of a whole text, that count as quoted

MadeOf = Callable[[Iterable[str]], list[Entity]]


@dataclass(frozen=True, slots=True)
class Effect:
    """Change of a derived record; `after` is None where it is erased."""

    before: Entity
    after: Entity | None

    @property
    def label(self) -> str:
        """`erased`, `withheld`, `restored`, `disputed`, or `updated`."""
        if self.after is None:
            return "erased"
        if is_withheld(self.after) != is_withheld(self.before):
            return "withheld" if is_withheld(self.after) else "restored"
        return "disputed" if DOUBTFUL in self.after.metadata else "updated"


def resting_on(made_of: MadeOf, memory: Entity) -> list[Entity]:
    """Return all records derived from a memory, nearest first; private ones only if they have the same author."""
    found = level = {memory.id: memory}
    while level:
        there, level = level, dict[str, Entity]()
        for record in made_of(there):
            sources = [there[each] for each in source_ids(record) if each in there and record.id not in found]
            if any(each.memory_scope != "private" or record.principal_id == each.principal_id for each in sources):
                level[record.id] = record
        found = found | level
    return [each for each in found.values() if each.id != memory.id]


def effects(
    records: Sequence[Entity],
    before: Entity,
    after: Entity | None,
    known: Callable[[Iterable[str]], dict[str, Entity]],
    *,
    erases: bool = False,
) -> list[Effect]:
    """Work out how the records that rest on a memory change with it.

    `after` is None where the memory is erased, `erases` is set where its words are. A record without a source that is
    shown is withheld, or erased with its last one; one that quotes erased words is erased; one that lost some sources
    is disputed.
    """
    there = known({each for record in records for each in source_ids(record)}) | {each.id: each for each in records}
    touched = {before.id, *(each.id for each in records)}
    there.pop(before.id, None)
    if after is not None:
        there[after.id] = after
    found, quotes = [], _quotes(before) if erases and records else None
    for record in records:
        is_quoting = quotes is not None and quotes(record.content)
        changed = None if is_quoting else _followed(record, before, after, there, touched)
        if changed is None:
            del there[record.id]
        else:
            there[record.id] = changed
        if changed != record:
            found.append(Effect(record, changed))
    return found


def _followed(
    record: Entity, before: Entity, after: Entity | None, there: Mapping[str, Entity], touched: Collection[str]
) -> Entity | None:
    named = source_ids(record)
    lost = [each for each in named if each not in there or is_withheld(there[each])]
    if after is None and len(lost) == len(named):
        return None
    rewritten = after if after is not None and before.id in named and after.content != before.content else None
    is_excerpt = EXCERPT in record.metadata and before.content.startswith(record.content)
    if rewritten is not None and (is_excerpt or record.content == before.content):
        record = _copied(record, rewritten)
    doubtful = [each for each in texts_in(record.metadata.get(DOUBTFUL)) if each not in touched]
    doubtful += [each for each in lost if each not in doubtful]
    if rewritten is not None and record.content not in rewritten.content and before.id not in doubtful:
        doubtful.append(before.id)
    is_alone = len(lost) == len(named)
    metadata = {key: value for key, value in record.metadata.items() if key not in (TRUST, DOUBTFUL, BEFORE)}
    state = trust_of(record.metadata)
    undoubted = record.metadata.get(BEFORE) if state == "disputed" else state
    if doubtful and not is_alone:
        metadata |= {TRUST: "disputed", DOUBTFUL: list[JsonValue](doubtful)}
        metadata |= {BEFORE: undoubted} if undoubted is not None else {}
    elif undoubted is not None:
        metadata[TRUST] = undoubted
    return placed(replace(record, metadata=metadata), withheld=is_alone)


def _copied(record: Entity, memory: Entity) -> Entity:
    content = memory.content[:CONTENT_LIMIT]
    metadata = {key: value for key, value in record.metadata.items() if key != EXCERPT}
    if len(content) < len(memory.content):
        metadata[EXCERPT] = {"start": 0, "end": len(content)}
    return replace(record, content=content, metadata=metadata)


def _quotes(source: Entity) -> Callable[[str], bool]:
    told = _bare(source.content)
    runs = {told[start : start + RUN] for start in range(len(told) - RUN + 1)}
    texts = [_bare(source.content[start:end]) for start, end in sentences(source.content)]
    whole = [each for each in texts if len(each) >= QUOTE_CHARACTERS] + [told] * (len(told) >= SHORT)

    def is_quoting(text: str) -> bool:
        said = _bare(text)
        pieces = (said[start : start + RUN] for start in range(len(said) - RUN + 1))
        is_in = said != "" and said in told
        return is_in or any(each in runs for each in pieces) or any(each in said for each in whole)

    return is_quoting


def _bare(text: str) -> str:
    # Markup, line ends and abridgement do not hide a quotation.
    return "".join(filter(str.isalnum, text.casefold()))
