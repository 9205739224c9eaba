"""Tantivy queries of a question, without its query parser."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self, get_args

from tantivy import FieldType, Occur, Query, Schema

from stores.clock import microseconds
from stores.language.figures import with_figures
from stores.lexical import analysis
from stores.lexical.names import is_day, is_year, numbered
from stores.lexical.schema import HAPPENED, Field
from stores.lexical.visible_stats import K1, VisibleStats
from stores.records import IndexFilter

LONGEST_QUERY = 20_000
"""Characters of a query that are read."""
MOST_CONSIDERED = 512
"""Distinct terms whose rarity is looked up, in order."""
MOST_TERMS = 64
"""Distinct terms searched, rarest first."""
MOST_PHRASES = 8
MOST_LOOKED_UP = 8
"""Names with numbers that are looked up."""
_HASH = re.compile(r"[0-9a-f-]+")
NAMED = 5.0
"""Weight of the number of a name."""
DATED = 3.0
"""Weight of a day."""
FEWEST_DIGITS = 2
"""The parts of `v2.4.1` are in many texts."""
MOST_MARKED = 24
"""Terms in a bit mask, the rarest."""

Words = Sequence[tuple[int, str]]
Names = Mapping[str, Words]
FIELDS: tuple[Field, ...] = get_args(Field)
# A union of a few terms is read lazily; beyond that one automaton over the dictionary is cheaper.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Term:
    field: Field
    value: str
    documents: int
    """Visible ones."""
    idf: float
    boost: float
    """Factor on Tantivy's score."""
    also: tuple["Term", ...] = ()
    """Terms that count as this one."""

    @property
    def values(self) -> list[str]:
        return [self.value, *(each.value for each in self.also)]


@dataclass(frozen=True, slots=True)
class LexicalPlan:
    terms: tuple[Term, ...]
    phrases: tuple[tuple[tuple[int, str], ...], ...]
    name: str
    """Empty where no record can have it."""
    words: Words
    """In order; none with a script without spaces, whose bigrams tell no order."""
    ids: tuple[str, ...] = ()
    """Records of which the question is the id, or holds it."""
    unknown: float = 0.0
    """Share of the idf in names with numbers that no visible record has."""

    @property
    def ceiling(self) -> float:
        """Upper bound of the BM25 score of any record."""
        return self.mass * (K1 + 1)

    @property
    def mass(self) -> float:
        """Summed idf; coverage is a share of it."""
        return sum(term.idf for term in self.terms)

    @property
    def is_prose(self) -> bool:
        """It has no known identifier and no quotation marks."""
        return not self.phrases and all(term.field == "text" for term in self.terms)

    @property
    def present(self) -> list[Term]:
        return [term for term in self.terms if term.documents]

    def within(self, field: Field) -> Self:
        return replace(self, terms=tuple(term for term in self.terms if term.field == field))


def plan(stats: VisibleStats, text: str, *, heed_names: bool = True) -> LexicalPlan:
    """Analyse a question with the statistics of the visible records.

    A missing word stays, with the highest idf: a record without it covers less. A missing exact token is dropped: its
    parts speak for it. The beginning of a hash stands for the hash.
    """
    whole = text[:LONGEST_QUERY]
    text = with_figures(whole, lambda figure: stats.documents("text", figure) > 0)
    said = analysis.positions(text)
    words = [word for word in dict.fromkeys(word for _, word in said) if not analysis.is_single_unspaced(word)]
    plain = {word: _term(stats, "text", word) for word in words[:MOST_CONSIDERED]}
    tokens = analysis.written_tokens(text)
    completed = _completed(stats, tokens, NAMED if heed_names else 1.0)
    written_so = set(analysis.identifiers(text)) - analysis.several(text)
    looked_up = dict.fromkeys(each for each in (*tokens, *analysis.members(tokens)) if each not in completed)
    exact, spoken_for = _exact(stats, written_so, looked_up, plain)
    spoken_for |= _straddling(said, plain).union(*map(analysis.analyse, completed))
    numbers = [each for each in numbered(text, tokens)[:MOST_TERMS] if each not in completed] if heed_names else []
    names = {name: analysis.positions(name) for name in numbers}
    found = [*(word for word in plain.values() if word.value not in spoken_for), *exact, *completed.values()]
    weighed = _emphasised(found, names)
    phrases = [tuple(analysis.positions(phrase)) for phrase in analysis.quoted(whole)[:MOST_PHRASES]]
    asked = dict.fromkeys([analysis.trim(analysis.normalise(whole).strip()), *filter(analysis.is_opaque, tokens)])
    ids = tuple(dict.fromkeys(each for name in islice(asked, MOST_LOOKED_UP) for each in stats.records(name)))
    # The sort is stable: equally rare terms keep their order in the question.
    return LexicalPlan(
        tuple(sorted(weighed, key=lambda term: -term.idf)[:MOST_TERMS]),
        tuple(phrase for phrase in phrases if phrase),
        analysis.name_key(whole),
        () if any(map(analysis.is_single_unspaced, written_so)) else said,
        ids,
        0.0 if ids else _unknown(stats, names, found, weighed),
    )


def _exact(
    stats: VisibleStats, written_so: Collection[str], tokens: Iterable[str], plain: Mapping[str, Term]
) -> tuple[list[Term], set[str]]:
    exact: list[Term] = []
    spoken_for: set[str] = set()
    for token in islice(tokens, MOST_CONSIDERED):
        absent = {word for word in analysis.analyse(token) if word in plain and not plain[word].documents}
        if token not in written_so and not absent:
            continue
        term = _term(stats, "exact", token)
        if term.documents:
            exact.append(term)
            spoken_for |= absent
    return exact, spoken_for


def _completed(stats: VisibleStats, tokens: Iterable[str], weight: float) -> dict[str, Term]:
    completed: dict[str, Term] = {}
    for token in islice(filter(analysis.may_begin_opaque, tokens), MOST_LOOKED_UP):
        if not _HASH.fullmatch(token) and stats.documents("exact", token):
            # It is whole: marker2x1, where there is marker2x10 as well.
            continue
        known = [each for each in stats.continuations("exact", token) if analysis.is_opaque(each[0])]
        if known:
            documents = sum(count for _, count in known)
            idf = weight * stats.idf(documents)
            first, *others = (Term("exact", each, documents, idf, stats.boost("exact", each, idf)) for each, _ in known)
            completed[token] = replace(first, also=tuple(others))
    return completed


def _straddling(said: Words, plain: Mapping[str, Term]) -> set[str]:
    # Between two words that a record may hold apart: 班电 in 值班电话.
    def is_held(word: str) -> bool:
        return word in plain and plain[word].documents > 0

    return {
        each
        for before, each, after in analysis.straddling([word for _, word in said])
        if is_held(before) and is_held(after) and not is_held(each)
    }


def _emphasised(terms: Sequence[Term], names: Names) -> list[Term]:
    words = {word for words in names.values() for _, word in words if not is_year(word)}
    telling = {word for word in words if sum(map(str.isdigit, word)) >= FEWEST_DIGITS} | names.keys()
    weights = [NAMED if term.value in telling else DATED if is_day(term.value) else 1.0 for term in terms]
    return [
        replace(term, idf=weight * term.idf, boost=weight * term.boost)
        for term, weight in zip(terms, weights, strict=True)
    ]


def _unknown(stats: VisibleStats, names: Names, plain: Sequence[Term], terms: Sequence[Term]) -> float:
    rarity, known, unknown = {term.value: term.idf for term in plain}, {term.value: term.idf for term in terms}, 0.0
    for name, words in islice(names.items(), MOST_LOOKED_UP):
        values = {name, *(word for _, word in words)} & known.keys()
        if values and not stats.is_written(name, _version(name, words)):
            unknown += NAMED * max(rarity[value] for value in values)
            known = {value: idf for value, idf in known.items() if value not in values}
    return unknown / (unknown + sum(known.values())) if unknown else 0.0


def _version(name: str, words: Words) -> Words:
    is_version = name[0] == "v" and name[1].isdigit() and words[:1] == [(0, "v")]
    return [(place - 1, word) for place, word in words[1:]] if is_version else words


def _term(stats: VisibleStats, field: Field, value: str) -> Term:
    documents = stats.documents(field, value)
    idf = stats.idf(documents)
    return Term(field, value, documents, idf, stats.boost(field, value, idf) if documents else 1.0)


def scored(schema: Schema, question: LexicalPlan, accepted: IndexFilter) -> Query:
    """Match some term and every phrase, by BM25."""
    terms = [_weighed(schema, term) for term in question.present]
    phrases = [phrase(schema, words) for words in question.phrases]
    return requiring(union(terms), [*phrases, *filters(schema, accepted)])


def named(schema: Schema, question: LexicalPlan, accepted: IndexFilter) -> Query:
    """Match records whose name or id is the question, by BM25."""
    called = [Query.term_query(schema, "name", question.name, "basic"), any_of(schema, "id", question.ids)]
    return _preferring(schema, question.present, [union(called), *filters(schema, accepted)])


def covering(schema: Schema, question: LexicalPlan, required: Iterable[Query]) -> Query:
    """Score by the summed idf of a record's terms."""
    held = [Query.const_score_query(_holding(schema, term), term.idf) for term in question.present]
    return requiring(union(held), required)


def marking(schema: Schema, terms: Sequence[Term], required: Iterable[Query]) -> Query:
    """Score by a bit mask of a record's terms, the first highest, 24 bits."""
    marks = ((term, float(1 << bit)) for bit, term in enumerate(reversed(terms)))
    return requiring(union([Query.const_score_query(_holding(schema, term), mark) for term, mark in marks]), required)


def happening(
    schema: Schema, spans: Iterable[tuple[int, int]], terms: Iterable[Term], required: Iterable[Query]
) -> Query:
    first, last = HAPPENED
    meeting = [
        Query.boolean_query([
            (Occur.Must, Query.range_query(schema, first, FieldType.Integer, upper_bound=end - 1)),
            (Occur.Must, Query.range_query(schema, last, FieldType.Integer, lower_bound=start)),
        ])
        for start, end in spans
    ]  # fmt: skip
    return _preferring(schema, terms, [union(meeting), *required])


def requiring(scored: Query, required: Iterable[Query]) -> Query:
    return Query.boolean_query([(Occur.Must, scored), *((Occur.Must, _unscored(query)) for query in required)])


def _preferring(schema: Schema, terms: Iterable[Term], required: Iterable[Query]) -> Query:
    wanted = [(Occur.Should, _weighed(schema, term)) for term in terms]
    return Query.boolean_query([*((Occur.Must, _unscored(query)) for query in required), *wanted])


def phrase(schema: Schema, words: Words) -> Query:
    if len(words) > 1:
        return Query.phrase_query(schema, "text", list(words))
    word = words[0][1]
    return union([Query.term_query(schema, field, word) for field in FIELDS])


def filters(schema: Schema, accepted: IndexFilter) -> list[Query]:
    found = [any_of(schema, "visibility", accepted.visibility)]
    found += [any_of(schema, facet, {value.lower() for value in values}) for facet, values in accepted.any_of.items()]
    if accepted.updated_since is not None:
        since = microseconds(accepted.updated_since)
        found.append(Query.range_query(schema, "updated_at", FieldType.Integer, lower_bound=since))
    if accepted.updated_until is not None:
        until = microseconds(accepted.updated_until)
        found.append(Query.range_query(schema, "updated_at", FieldType.Integer, upper_bound=until))
    if accepted.ids is not None:
        found.append(any_of(schema, "id", accepted.ids))
    return found


def union(queries: list[Query]) -> Query:
    """Match nothing without queries."""
    return Query.boolean_query([(Occur.Should, query) for query in queries]) if queries else Query.empty_query()


def any_of(schema: Schema, field: str, values: Iterable[str]) -> Query:
    accepted = sorted(values)
    if len(accepted) <= _FEW:
        return union([Query.term_query(schema, field, value, "basic") for value in accepted])
    return Query.term_set_query(schema, field, accepted)


def _weighed(schema: Schema, term: Term) -> Query:
    if term.also:
        return Query.disjunction_max_query([_weighed(schema, each) for each in (replace(term, also=()), *term.also)])
    query = Query.term_query(schema, term.field, term.value)
    return query if term.boost == 1.0 else Query.boost_query(query, term.boost)


def _holding(schema: Schema, term: Term) -> Query:
    held = [Query.term_query(schema, term.field, value) for value in term.values]
    return held[0] if len(held) == 1 else union(held)


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
