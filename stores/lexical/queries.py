"""How a question becomes a Tantivy query: terms, required phrases and filters, never its query parser."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import get_args

from tantivy import FieldType, Occur, Query, Schema

from stores.lexical.analysis import (
    analyse,
    identifiers,
    is_single_unspaced,
    members,
    name_key,
    positions,
    quoted,
    several,
    written_tokens,
)
from stores.lexical.names import is_year, numbered
from stores.lexical.schema import HAPPENED, Field, microseconds
from stores.lexical.term_stats import K1, TermStats
from stores.records import IndexFilter

LONGEST_QUERY = 20_000
"""Characters of a query that are read."""
MOST_CONSIDERED = 512
"""Distinct terms whose rarity is looked up, in order."""
MOST_TERMS = 64
"""Distinct terms that are searched, rarest first."""
MOST_PHRASES = 8
MOST_LOOKED_UP = 8
"""Names with numbers, the first of a question, of which it is looked up whether a record has them."""
NAMED = 5.0
"""How many times the number of such a name counts: few records have it, and they are what is asked about."""
FEWEST_DIGITS = 2
"""Of a word of such a name that counts so; the parts of `v2.4.1` are in many texts."""
MOST_MARKED = 24
"""Terms, the rarest, of which is told which records hold them."""

Words = Sequence[tuple[int, str]]
"""Words with their places."""
Names = Mapping[str, Words]
"""Names with numbers as they are written, with their words."""
FIELDS: tuple[Field, ...] = get_args(Field)
"""Both count alike: an identifier spelt out scores its parts and itself."""
# A union of a few terms is read lazily; beyond that one automaton over the dictionary is cheaper.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is looked for."""

    field: Field
    value: str
    documents: int
    """Number of records that hold it."""
    idf: float
    boost: float = 1.0
    """Factor on Tantivy's score."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An analysed question."""

    terms: tuple[Term, ...]
    phrases: tuple[tuple[tuple[int, str], ...], ...]
    name: str
    """What the name of a record would be that is the question itself; empty where there can be none."""
    words: Words
    """All of its words, in order; none where some are of a script without spaces, whose pairs tell no order."""
    unknown: float = 0.0
    """The share of the question's idf that belongs to names with numbers that no record has which is seen."""

    @property
    def ceiling(self) -> float:
        """The BM25 score that no record can reach: every term, infinitely often, in a text of no length."""
        return self.mass * (K1 + 1)

    @property
    def mass(self) -> float:
        """The sum of the terms' idf, of which a record's coverage is a share."""
        return sum(term.idf for term in self.terms)

    @property
    def is_prose(self) -> bool:
        """Whether it is told by words alone: no identifier of it is known, and it has nothing in quotation marks."""
        return not self.phrases and all(term.field == "text" for term in self.terms)

    @property
    def present(self) -> list[Term]:
        """The terms that the index holds."""
        return [term for term in self.terms if term.documents]


def plan(stats: TermStats, text: str, *, heed_names: bool = True) -> Plan:
    """Analyse a question against the index's dictionary, as somebody sees it.

    The numbers of names count for more, unless names are not to be heeded.

    A word that the index lacks stays, with the highest idf, because a record that cannot hold it covers less of the
    question. An exact token that the index lacks goes: its parts speak for it.
    """
    text = text[:LONGEST_QUERY]
    weigh = _weigher(stats)
    said = positions(text)
    words = [word for word in dict.fromkeys(word for _, word in said) if not is_single_unspaced(word)]
    plain = {word.value: word for word in map(weigh("text"), words[:MOST_CONSIDERED])}
    tokens = written_tokens(text)
    written_so = set(identifiers(text)) - several(text)
    looked_up = dict.fromkeys([*tokens, *members(tokens)])
    exact, spoken_for = _exact(written_so, looked_up, plain, weigh("exact"))
    names = {name: positions(name) for name in numbered(text, tokens)[:MOST_TERMS]} if heed_names else {}
    found = [*(word for word in plain.values() if word.value not in spoken_for), *exact]
    weighed = _emphasised(found, names)
    phrases = [tuple(positions(phrase)) for phrase in quoted(text)[:MOST_PHRASES]]
    # The sort is stable: equally rare terms keep their order in the question.
    return Plan(
        tuple(sorted(weighed, key=lambda term: -term.idf)[:MOST_TERMS]),
        tuple(phrase for phrase in phrases if phrase),
        name_key(text),
        () if any(map(is_single_unspaced, written_so)) else said,
        _unknown(stats, names, found, weighed),
    )


def _exact(
    written_so: Collection[str],
    tokens: Iterable[str],
    plain: Mapping[str, Term],
    weigh: Callable[[str], Term],
) -> tuple[list[Term], set[str]]:
    """The exact tokens worth looking for, and the words that they replace.

    A plain word is looked for exactly only where no record holds it as a word: somebody else's odd spelling of a common
    word must not count as a rare term of the question, and `tiktok` must find `TikTok` without missing the word itself.
    """
    exact: list[Term] = []
    spoken_for: set[str] = set()
    for token in islice(tokens, MOST_CONSIDERED):
        absent = {word for word in analyse(token) if word in plain and not plain[word].documents}
        if token not in written_so and not absent:
            continue
        term = weigh(token)
        if term.documents:
            exact.append(term)
            spoken_for |= absent
    return exact, spoken_for


def _emphasised(terms: Sequence[Term], names: Names) -> list[Term]:
    """Let what tells one name from others count for more: the whole of it, and those of its words with some digits.

    Years tell little: a text of that year has them as well.
    """
    words = {word for words in names.values() for _, word in words if not is_year(word)}
    telling = {word for word in words if sum(map(str.isdigit, word)) >= FEWEST_DIGITS} | names.keys()
    return [
        replace(term, idf=NAMED * term.idf, boost=NAMED * term.boost) if term.value in telling else term
        for term in terms
    ]


def _unknown(stats: TermStats, names: Names, plain: Sequence[Term], terms: Sequence[Term]) -> float:
    """The share of the question that names with numbers are which no record has that is seen.

    Such a name is one thing: where no record has its words one behind the other, what has some of them is about
    something else. Its rarest word counts as the number of a name does, and no other of them; `terms` are the plain
    ones as they count.
    """
    rarity, known, unknown = {term.value: term.idf for term in plain}, {term.value: term.idf for term in terms}, 0.0
    for name, words in islice(names.items(), MOST_LOOKED_UP):
        values = {name, *(word for _, word in words)} & known.keys()
        if values and not stats.is_written(name, _version(name, words)):
            unknown += NAMED * max(rarity[value] for value in values)
            known = {value: idf for value, idf in known.items() if value not in values}
    return unknown / (unknown + sum(known.values())) if unknown else 0.0


def _version(name: str, words: Words) -> Words:
    """The words of a name; of `v2.4.1` those without the letter, as a change log has them."""
    is_version = name[0] == "v" and name[1].isdigit() and words[:1] == [(0, "v")]
    return [(place - 1, word) for place, word in words[1:]] if is_version else words


def _weigher(stats: TermStats) -> Callable[[Field], Callable[[str], Term]]:
    def in_field(field: Field) -> Callable[[str], Term]:
        def weigh(value: str) -> Term:
            documents = stats.documents(field, value)
            return Term(field, value, documents, stats.idf(documents))

        return weigh

    return in_field


def scored(schema: Schema, question: Plan, accepted: IndexFilter) -> Query:
    """The query for records that hold some term and every phrase, scored by BM25."""
    terms = [_weighed(schema, term) for term in question.present]
    required = [phrase(schema, words) for words in question.phrases]
    return Query.boolean_query(
        [
            (Occur.Must, union(terms)),
            *((Occur.Must, _unscored(query)) for query in (*required, *filters(schema, accepted))),
        ]
    )


def named(schema: Schema, question: Plan, accepted: IndexFilter) -> Query:
    """The query for records whose name is the question, scored by BM25 where they hold its terms."""
    required = [Query.term_query(schema, "name", question.name, "basic"), *filters(schema, accepted)]
    return Query.boolean_query(
        [
            *((Occur.Must, _unscored(query)) for query in required),
            *((Occur.Should, _weighed(schema, term)) for term in question.present),
        ]
    )


def covering(schema: Schema, question: Plan, required: Iterable[Query]) -> Query:
    """The query whose score is the summed idf of the terms that a record holds."""
    held = [
        (Occur.Should, Query.const_score_query(Query.term_query(schema, term.field, term.value), term.idf))
        for term in question.present
    ]
    return Query.boolean_query([
        (Occur.Must, Query.boolean_query(held)),
        *((Occur.Must, _unscored(query)) for query in required),
    ])  # fmt: skip


def marking(schema: Schema, terms: Sequence[Term], required: Iterable[Query]) -> Query:
    """The query whose score says which of the terms a record holds: a sum of powers of two, the first term's highest.

    A score has 24 bits.
    """
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
    """The query for records that tell of what may have happened in one of the spans, scored by the terms they hold."""
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
    """The query for records that have these words at these distances."""
    if len(words) > 1:
        return Query.phrase_query(schema, "text", list(words))
    word = words[0][1]
    return union([Query.term_query(schema, field, word) for field in FIELDS])


def filters(schema: Schema, accepted: IndexFilter) -> list[Query]:
    """What a record must match before it competes."""
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
    """Any of the queries; none when there are none."""
    return Query.boolean_query([(Occur.Should, query) for query in queries]) if queries else Query.empty_query()


def any_of(schema: Schema, field: str, values: Iterable[str]) -> Query:
    """Records that have one of the values in a field."""
    accepted = sorted(values)
    if len(accepted) <= _FEW:
        return union([Query.term_query(schema, field, value, "basic") for value in accepted])
    return Query.term_set_query(schema, field, accepted)


def any_of_numbers(schema: Schema, field: str, values: Iterable[int]) -> Query:
    """Records that have one of the numbers in a field."""
    return Query.term_set_query(schema, field, sorted(values))


def _weighed(schema: Schema, term: Term) -> Query:
    query = Query.term_query(schema, term.field, term.value)
    return query if term.boost == 1.0 else Query.boost_query(query, term.boost)


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
