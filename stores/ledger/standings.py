"""Standings: what a ranking must know of many records at once, read without their text."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, exists, select

from stores.errors import NotFound
from stores.ledger import schema, standing_rows
from stores.ledger.encoding import dump_json, key_of, to_micros
from stores.ledger.entities import EntityReads
from stores.ledger.feed import FeedReads
from stores.ledger.filters import EntityQuery, test_of
from stores.ledger.groups import Kind, Order, Standing
from stores.ledger.known import ANYTHING, MOST_RECORDS, Found, KnownRows, Label, Topic, Wanted
from stores.ledger.listed import as_list, listed
from stores.ledger.memories import Outcome, all_decided, outcomes
from stores.ledger.relations import holds, present
from stores.ledger.rows import Brief
from stores.records import Change, Position

MOST_CHANGES = 500
"""Changes that are followed one by one; after more, all is read again."""

_table = schema.entities
_labels = schema.entity_labels
_relations = schema.relations


@cache
def _all_labelled(dialect: str) -> Select[Any]:
    """Return the query for all records that have a label."""
    return select(as_list(dialect, _labels.c.entity_id)).where(
        _labels.c.organization_id == bindparam("organization"),
        _labels.c.kind == bindparam("kind"),
        _labels.c.label == bindparam("label"),
    )


_superseding_all = (
    select(_relations.c.target_id)
    .distinct()
    .where(_relations.c.organization_id == bindparam("organization"), schema.SUPERSEDING)
    .limit(bindparam("most"))
)
_TOPICS: Mapping[Topic, Select[Any]] = {"retirable": _superseding_all, "decided": all_decided}


@cache
def _retired(dialect: str, *, now: bool) -> Select[Any]:
    """Return the query for what relations with one of the visibility keys, from records with one of them, retire.

    Asked apart: within the other query it would be asked once for each record, and hardly any record is retired.
    """
    return select(_relations.c.target_id, _relations.c.source_id).where(
        _relations.c.organization_id == bindparam("organization"),
        _relations.c.target_id.in_(listed(dialect, "ids")),
        schema.SUPERSEDING,
        _relations.c.visibility.in_(listed(dialect, "visibility")),
        present() if now else holds(),
        exists().where(
            _table.c.organization_id == bindparam("organization"),
            _table.c.id == _relations.c.source_id,
            _table.c.visibility.in_(listed(dialect, "visibility")),
        ),
    )


@cache
def _labelled(dialect: str) -> Select[Any]:
    """Return the query for those of some records that have one of some labels."""
    return select(_labels.c.entity_id).where(
        _labels.c.organization_id == bindparam("organization"),
        _labels.c.entity_id.in_(listed(dialect, "ids")),
        _labels.c.kind == bindparam("kind"),
        _labels.c.label.in_(listed(dialect, "labels")),
    )


class StandingReads(EntityReads, FeedReads):
    """Reads of standings. What does not depend on the caller is read once and kept until the feed names it."""

    _known: KnownRows

    def gather(self, organization_id: str) -> bool:
        """Read the standings of all records now; False where there are too many, or somebody else is at it.

        Otherwise a thread does that once enough lists have asked for it.
        """
        position = self._followed(organization_id)
        known = None if position is None else self._known.gather(organization_id, position)
        if known is None:
            return False
        rows = None
        try:
            rows = self._whole(organization_id)
        finally:
            self._known.gathered(organization_id, known, rows)
        return rows is not None

    def _whole(self, organization_id: str) -> dict[str, Standing] | None:
        statement = standing_rows.after(self._database.writer.dialect.name)
        rows: dict[str, Standing] = {}
        after = ""
        while found := self._packed(statement, {"organization": organization_id, "after": after}):
            rows |= {row[0]: standing_rows.standing(row) for row in found}
            after = max(row[0] for row in found)
            if len(rows) > MOST_RECORDS:
                return None
        return rows

    def look(self, organization_id: str) -> "Look":
        """Return what is known of an organization's records, as fresh as this moment or fresher."""
        return Look(self, organization_id, self._followed(organization_id))

    def standings(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> dict[str, Standing]:
        """Return the standing of each entity that exists (with `as_of`: existed then), by id.

        Only relations with one of the visibility keys retire a record: what a caller may not see has no effect on it.
        There are none in an organization that does not exist.
        """
        ids = list(dict.fromkeys(entity_ids))
        if not ids:
            return {}
        look = self.look(organization_id)
        found = look.rows(ids)
        if as_of is not None:
            at = to_micros(as_of)
            found = {each: standing for each, standing in found.items() if standing.created_us <= at}
        retired = look.superseded(found, visibility=visibility, as_of=as_of)
        return found | {each: found[each]._replace(superseded=True) for each in retired}

    def superseded(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> set[str]:
        """Return what `Look.superseded` does."""
        ids = set(entity_ids)
        return self.look(organization_id).superseded(ids, visibility=visibility, as_of=as_of) if ids else ids

    def outcomes(self, organization_id: str, memory_ids: Iterable[str]) -> dict[str, Outcome]:
        """Return what became of those of some raw memories of which an entity was made, or that were archived."""
        position = self._followed(organization_id)
        decided: Container[str] = () if position is None else self._of_topic(organization_id, position, "decided")
        ids = [each for each in memory_ids if each in decided]
        if not ids:
            return {}
        values = {"organization": organization_id, "ids": dump_json(list[Any](ids))}
        found = self._packed(outcomes(self._database.writer.dialect.name), values)
        return {memory_id: Outcome(made, state == "archived") for memory_id, made, state in found}

    def matching_ids(self, organization_id: str, query: EntityQuery, entity_ids: Iterable[str]) -> set[str]:
        """Return what `Look.matching_ids` does."""
        return self.look(organization_id).matching_ids(query, entity_ids)

    def _rows(self, organization_id: str, position: Position, ids: Sequence[str]) -> dict[str, Standing]:
        rows = self._known.get(organization_id, position, ids)
        if missing := [each for each in ids if each not in rows]:
            read = self._read(organization_id, missing)
            self._known.keep(organization_id, position, read)
            rows |= read
        return rows

    def _kinds_at(self, organization_id: str, position: Position, ids: Sequence[str]) -> dict[str, Kind]:
        known = self._known.kinds(organization_id, position, ids)
        kinds = {each: kind for each, kind in zip(ids, known, strict=True) if kind is not None}
        if len(kinds) < len(ids):
            rows = self._rows(organization_id, position, [each for each in ids if each not in kinds])
            shared: dict[Kind, Kind] = {kind: kind for kind in {id(kind): kind for kind in kinds.values()}.values()}
            for row in rows.values():
                kind = Kind(row.visibility, row.facets)
                kinds[row.id] = shared.setdefault(kind, kind)
        return kinds

    def _read(self, organization_id: str, ids: Sequence[str]) -> dict[str, Standing]:
        values = {"organization": organization_id, "ids": dump_json(list[Any](ids))}
        found = self._packed(standing_rows.some(self._database.writer.dialect.name), values)
        return {row[0]: standing_rows.standing(row) for row in found}

    def _briefs_at(self, organization_id: str, position: Position, ids: Sequence[str]) -> dict[str, Brief]:
        briefs = self._known.briefs(organization_id, position, ids)
        if missing := [each for each in ids if each not in briefs]:
            read = self._brief_rows(organization_id, missing)
            self._known.keep_briefs(organization_id, position, read)
            briefs |= {brief.id: brief for brief, _ in read}
        return briefs

    def _with_label_at(self, organization_id: str, position: Position, label: Label) -> Collection[str]:
        known = self._known.labelled(organization_id, position, label)
        if known is None:
            values = {"organization": organization_id, "kind": label[0], "label": label[1]}
            ids: Collection[str] = self._packed(_all_labelled(self._database.writer.dialect.name), values)
        else:
            ids, changed = known
            if not changed:
                return ids
            ids |= self._with_label(organization_id, changed, label[0], [label[1]])
        self._known.keep_labelled(organization_id, position, label, ids)
        return ids

    def _of_topic(self, organization_id: str, position: Position, topic: Topic) -> Container[str]:
        """Return the records of a topic, and perhaps others; where they are many, any."""
        known = self._known.ids(organization_id, position, topic)
        if known is None:
            rows = self._all(_TOPICS[topic], {"organization": organization_id, "most": MOST_RECORDS + 1})
            known = frozenset(row[0] for row in rows) if len(rows) <= MOST_RECORDS else ANYTHING
            self._known.keep_ids(organization_id, position, topic, known)
        return known

    def _superseded(
        self, organization_id: str, ids: Iterable[str], visibility: frozenset[str], as_of: datetime | None
    ) -> set[str]:
        values = {
            "organization": organization_id,
            "ids": dump_json(list[Any](sorted(ids))),
            "visibility": dump_json(list[Any](sorted(visibility))),
            "at": to_micros(self._clock() if as_of is None else as_of),
        }
        found = self._all(_retired(self._database.writer.dialect.name, now=as_of is None), values)
        if as_of is None or not found:
            return {row.target_id for row in found}
        then = self.entities_at(organization_id, {row.source_id for row in found}, as_of)
        readable = {each for each, entity in then.items() if entity.visibility in visibility}
        return {row.target_id for row in found if row.source_id in readable}

    def _with_label(self, organization_id: str, ids: Iterable[str], kind: str, words: Iterable[str]) -> set[str]:
        values = {
            "organization": organization_id,
            "ids": dump_json(list[Any](sorted(ids))),
            "kind": kind,
            "labels": dump_json(list[Any](sorted({key_of(word) for word in words}))),
        }
        return {row.entity_id for row in self._all(_labelled(self._database.writer.dialect.name), values)}

    def _followed(self, organization_id: str) -> Position | None:
        """Forget what has changed since the last time; return how fresh the rest is, None without an organization."""
        try:
            head = self._head(organization_id)
        except NotFound:
            return None
        known = self._known.position(organization_id)
        if head == known:
            return head
        changes: list[Change] = []
        if known is not None and self.batch_at(organization_id, known.sequence) == known.batch:
            changes = self.changes(organization_id, known.sequence, MOST_CHANGES)
        whole = bool(changes) and changes[-1].sequence >= head.sequence
        self._known.advance(organization_id, known if whole else None, head, changes)
        return head

    def _head(self, organization_id: str) -> Position:
        # Asked first: the head that is read then is as fresh, or fresher.
        commits = self._database.commits()
        if commits is None:
            return self.head(organization_id)
        head = self._known.head(organization_id, commits)
        if head is None:
            head = self.head(organization_id)
            self._known.keep_head(organization_id, commits, head)
        return head


class Look:
    """The records of an organization at one moment or later: for a request that asks several things of them."""

    def __init__(self, reads: StandingReads, organization_id: str, position: Position | None) -> None:
        """Take how fresh the answers have to be; None: there is no such organization, and nothing in it."""
        self._reads = reads
        self._organization_id = organization_id
        self._position = position

    def rows(self, entity_ids: Iterable[str]) -> dict[str, Standing]:
        """Return the standing of each entity that exists, by id; whether something superseded it is not told."""
        if self._position is None:
            return {}
        return self._reads._rows(self._organization_id, self._position, list(dict.fromkeys(entity_ids)))

    def matching_ids(self, query: EntityQuery, entity_ids: Iterable[str]) -> set[str]:
        """Return those of the entities that a query lists, whatever its page. It must not look for text.

        The work is in proportion to the ids.
        """
        kinds = self._kinds(entity_ids)
        # Few different ones, each one object.
        apart = {id(kind): kind for kind in kinds.values()}
        passes, visible = test_of(query), query.visibility
        passing = {each for each, kind in apart.items() if kind.visibility in visible and passes(kind.facets)}
        found = {each for each, kind in kinds.items() if id(kind) in passing}
        if query.epic is not None or query.no_epic:
            named = {each: epic for each in found if (epic := kinds[each].facets.epic_id)}
            epics = self._kinds(named.values())
            there = {each for each, kind in epics.items() if kind.facets.type == "epic" and kind.visibility in visible}
            found = {each for each in found if (named.get(each) in there) != query.no_epic}
        for kind, words in (("tag", query.tags), ("language", query.languages)):
            if words and found:
                found = self._reads._with_label(self._organization_id, found, kind, words)
        return found

    def _kinds(self, entity_ids: Iterable[str]) -> dict[str, Kind]:
        if self._position is None:
            return {}
        return self._reads._kinds_at(self._organization_id, self._position, list(dict.fromkeys(entity_ids)))

    def briefs(self, entity_ids: Iterable[str]) -> dict[str, Brief]:
        """Return those of the entities that exist, by id, without their long texts."""
        if self._position is None:
            return {}
        return self._reads._briefs_at(self._organization_id, self._position, list(dict.fromkeys(entity_ids)))

    def labelled(self, kind: str, words: Iterable[str]) -> set[str]:
        """Return the ids of all records that have one of some labels."""
        if self._position is None:
            return set()
        keys = {key_of(word) for word in words}
        return set().union(
            *(self._reads._with_label_at(self._organization_id, self._position, (kind, key)) for key in keys)
        )

    @property
    def knows_all(self) -> bool:
        """Tell whether all records are remembered, but for some that changed."""
        place = self._organization_id, self._position
        return place[1] is None or self._reads._known.lacking(place[0], place[1]) is not None

    def matching(self, query: EntityQuery, order: Order, among: Collection[str] | None) -> Found | None:
        """Return the first of all records that a query lists, or of some, whatever it asks of labels and of text.

        None where not all records are remembered.
        """
        if self._position is None:
            return Found(0, [])
        known, place = self._reads._known, (self._organization_id, self._position)
        lacking = known.lacking(*place)
        if lacking is None:
            return None
        if lacking:
            known.settle(*place, lacking, self._reads._read(self._organization_id, lacking))
        has_epic = True if query.epic is not None else False if query.no_epic else None
        return known.matching(*place, Wanted(query.visibility, test_of(query), has_epic, among, order))

    def superseded(
        self, entity_ids: Iterable[str], *, visibility: frozenset[str], as_of: datetime | None = None
    ) -> set[str]:
        """Return those of the entities that another one retires now, or retired at a time.

        Only what has one of the visibility keys has an effect: the relation, and the record that states it. At a time,
        that record must have been readable then, too.
        """
        if self._position is None:
            return set()
        retirable = self._reads._of_topic(self._organization_id, self._position, "retirable")
        ids = {each for each in entity_ids if each in retirable}
        return set(self._reads._superseded(self._organization_id, ids, visibility, as_of)) if ids else set()
