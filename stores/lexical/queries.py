"""Tantivy queries of a question, without its query parser."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self, get_args

from tantivy import FieldType, Occur, Query, Schema

from stores.clock import microseconds
from stores.lexical import analysis
from stores.lexical.lengths import K1
from stores.lexical.names import is_year, numbered
from stores.lexical.schema import HAPPENED, Field
from stores.lexical.visible_stats import VisibleStats
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
NAMED = 5.0
"""Weight of the number of a name."""
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


@dataclass(frozen=True, slots=True)
class Plan:
    """Analysed question."""

    terms: tuple[Term, ...]
    phrases: tuple[tuple[tuple[int, str], ...], ...]
    name: str
    """Empty where no record can have it."""
    words: Words
    """In order; none with a script without spaces, whose bigrams tell no order."""
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


def plan(stats: VisibleStats, text: str, *, heed_names: bool = True) -> Plan:
    """Analyse a question with the statistics of what the caller sees.

    A missing word stays, with the highest idf: a record without it covers less. A missing exact token is dropped: its
    parts speak for it.
    """
    text = text[:LONGEST_QUERY]
    weigh = _weigher(stats)
    said = analysis.positions(text)
    words = [word for word in dict.fromkeys(word for _, word in said) if not analysis.is_single_unspaced(word)]
    plain = {word.value: word for word in map(weigh("text"), words[:MOST_CONSIDERED])}
    tokens = analysis.written_tokens(text)
    written_so = set(analysis.identifiers(text)) - analysis.several(text)
    looked_up = dict.fromkeys([*tokens, *analysis.members(tokens)])
    exact, spoken_for = _exact(written_so, looked_up, plain, weigh("exact"))
    names = {name: analysis.positions(name) for name in numbered(text, tokens)[:MOST_TERMS]} if heed_names else {}
    found = [*(word for word in plain.values() if word.value not in spoken_for), *exact]
    weighed = _emphasised(found, names)
    phrases = [tuple(analysis.positions(phrase)) for phrase in analysis.quoted(text)[:MOST_PHRASES]]
    # The sort is stable: equally rare terms keep their order in the question.
    return Plan(
        tuple(sorted(weighed, key=lambda term: -term.idf)[:MOST_TERMS]),
        tuple(phrase for phrase in phrases if phrase),
        analysis.name_key(text),
        () if any(map(analysis.is_single_unspaced, written_so)) else said,
        _unknown(stats, names, found, weighed),
    )


def _exact(
    written_so: Collection[str], tokens: Iterable[str], plain: Mapping[str, Term], weigh: Callable[[str], Term]
) -> tuple[list[Term], set[str]]:
    exact: list[Term] = []
    spoken_for: set[str] = set()
    for token in islice(tokens, MOST_CONSIDERED):
        absent = {word for word in analysis.analyse(token) if word in plain and not plain[word].documents}
        if token not in written_so and not absent:
            continue
        term = weigh(token)
        if term.documents:
            exact.append(term)
            spoken_for |= absent
    return exact, spoken_for


def _emphasised(terms: Sequence[Term], names: Names) -> list[Term]:
    words = {word for words in names.values() for _, word in words if not is_year(word)}
    telling = {word for word in words if sum(map(str.isdigit, word)) >= FEWEST_DIGITS} | names.keys()
    return [
        replace(term, idf=NAMED * term.idf, boost=NAMED * term.boost) if term.value in telling else term
        for term in terms
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


def _weigher(stats: VisibleStats) -> Callable[[Field], Callable[[str], Term]]:
    def in_field(field: Field) -> Callable[[str], Term]:
        def weigh(value: str) -> Term:
            documents = stats.documents(field, value)
            idf = stats.idf(documents)
            return Term(field, value, documents, idf, stats.boost(field, value, idf) if documents else 1.0)

        return weigh

    return in_field


def scored(schema: Schema, question: Plan, accepted: IndexFilter) -> Query:
    """Match some term and every phrase, by BM25."""
    terms = [_weighed(schema, term) for term in question.present]
    required = [phrase(schema, words) for words in question.phrases]
    return Query.boolean_query(
        [
            (Occur.Must, union(terms)),
            *((Occur.Must, _unscored(query)) for query in (*required, *filters(schema, accepted))),
        ]
    )


def named(schema: Schema, question: Plan, accepted: IndexFilter) -> Query:
    """Match records named as the question, by BM25."""
    required = [Query.term_query(schema, "name", question.name, "basic"), *filters(schema, accepted)]
    return Query.boolean_query(
        [
            *((Occur.Must, _unscored(query)) for query in required),
            *((Occur.Should, _weighed(schema, term)) for term in question.present),
        ]
    )


def covering(schema: Schema, question: Plan, required: Iterable[Query]) -> Query:
    """Score by the summed idf of a record's terms."""
    held = [
        (Occur.Should, Query.const_score_query(Query.term_query(schema, term.field, term.value), term.idf))
        for term in question.present
    ]
    return Query.boolean_query([
        (Occur.Must, Query.boolean_query(held)),
        *((Occur.Must, _unscored(query)) for query in required),
    ])  # fmt: skip


def marking(schema: Schema, terms: Sequence[Term], required: Iterable[Query]) -> Query:
    """Score by a bit mask of a record's terms, the first highest, 24 bits."""
    marks = ((term, float(1 << bit)) for bit, term in enumerate(reversed(terms)))
    held = [
        (Occur.Should, Query.const_score_query(Query.term_query(schema, term.field, term.value), mark))
        for term, mark in marks
    ]
    return Query.boolean_query([
        (Occur.Must, Query.boolean_query(held)),
        *((Occur.Must, _unscored(query)) for query in required),
    ])  # fmt: skip


def happening(
    schema: Schema, spans: Iterable[tuple[int, int]], terms: Iterable[Term], required: Iterable[Query]
) -> Query:
    first, last = HAPPENED
    within = [
        Query.boolean_query([
            (Occur.Must, Query.range_query(schema, first, FieldType.Integer, upper_bound=end - 1)),
            (Occur.Must, Query.range_query(schema, last, FieldType.Integer, lower_bound=start)),
        ])
        for start, end in spans
    ]  # fmt: skip
    return Query.boolean_query([
        *((Occur.Must, _unscored(query)) for query in (union(within), *required)),
        *((Occur.Should, _weighed(schema, term)) for term in terms),
    ])  # fmt: skip


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


def any_of_numbers(schema: Schema, field: str, values: Iterable[int]) -> Query:
    return Query.term_set_query(schema, field, sorted(values))


def _weighed(schema: Schema, term: Term) -> Query:
    query = Query.term_query(schema, term.field, term.value)
    return query if term.boost == 1.0 else Query.boost_query(query, term.boost)


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
