import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.index import IndexBatch, Item
from stores.language.wording import comparable, folded
from stores.lexical import LexicalIndex, LexicalResult
from stores.lexical.analysis import analyse, identifiers, prepare
from stores.lexical.schema import FORMAT
from stores.records import ORGANIZATION, Entity, IndexFilter, Position
from tests.stores.disk import killed, on_disk
from tests.stores.records import NOW, entity

EVERYONE = IndexFilter(frozenset({ORGANIZATION}))


def record(record_id: str, content: str, **changes: object) -> Entity:
    return entity(record_id, content=content, **changes)


def batch(sequence: int, *entities: Entity, deleted: tuple[str, ...] = ()) -> IndexBatch:
    items = [*(Item("entity", each) for each in deleted), *(Item("entity", each.id, each) for each in entities)]
    return IndexBatch(items, Position("epoch", sequence, f"batch-{sequence}"))


def ids(result: LexicalResult) -> list[str]:
    return [hit.record_id for hit in result.hits]


@pytest.fixture
def index(tmp_path: Path):  # type: ignore[no-untyped-def]
    opened = LexicalIndex(tmp_path / "lexical")
    yield opened
    opened.close()


def filled(index: LexicalIndex, **texts: str) -> LexicalIndex:
    index.apply(batch(1, *(record(record_id, text) for record_id, text in texts.items())))
    return index


def find(index: LexicalIndex, text: str, accepted: IndexFilter = EVERYONE, limit: int = 10) -> list[str]:
    return ids(index.search(text, filter=accepted, limit=limit))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        pytest.param("the connection pools were exhausted", "pool exhaustion", id="stemming"),
        pytest.param("function parseHTTPHeader(x)", "http header", id="camel case"),
        pytest.param("exports PDFs, at night", "pdf export", id="several of an acronym"),
        pytest.param("def JSONAsText(found)", "json", id="a word after an acronym that is no plural"),
        pytest.param("def get_id_of_page(page)", "loadIDsOfPages", id="one of an acronym within a word"),
        pytest.param("call foo_bar_baz first", "bar", id="snake case"),
        pytest.param("uses python3.11", "python", id="digits"),
        pytest.param("a café in Zürich", "cafe zurich", id="accents"),
        pytest.param("we serialise colours lazily", "serialize color", id="British for American"),
        pytest.param("the tumor was analyzed", "analysing tumours", id="American for British"),
        pytest.param("un cafe\u0301", "café", id="decomposed accents"),
        pytest.param("fails with ERR-4711.", "err-4711", id="error code"),
        pytest.param("see src/stores/lexical/index.py:42", "index.py", id="end of a path"),
        pytest.param("written in C++ mostly", "c++", id="punctuated name"),
        pytest.param("私は日本語を勉強しています", "日本語", id="Japanese"),
        pytest.param("他的猫很大", "猫", id="one Chinese character"),
        pytest.param("데이터베이스를 고쳤다", "데이터", id="Korean"),
        pytest.param("สวัสดีชาวโลก", "ชาวโลก", id="Thai"),
        pytest.param("Привет, мир", "МИР", id="Cyrillic"),
        pytest.param("值班表每周一更新、电话在群公告里。", "值班电话", id="words of a run apart"),
        pytest.param("Ёлка стои\u0301т в холле", "елка стоит", id="yo and stress"),
        pytest.param("ΚΛΕΙΔΊ", "κλειδι", id="tonos and case"),
        pytest.param("أحمد عنده المُفتاح", "احمد المفتاح", id="hamza and harakat"),
        pytest.param("הַמַּפְתֵּחַ שלי", "המפתח", id="niqqud"),
        pytest.param("हिन्दी में", "हिनदी", id="virama"),
        pytest.param("صفحة ١٢٣٤", "1234", id="digits"),
        pytest.param("The total was $1,299.00", "1299", id="thousands"),
        pytest.param("gross 1299 a month", "1,299", id="thousands of a question"),
        pytest.param("Le chiffre: 1 234 567,89 EUR", "1234567", id="thousands apart"),
        pytest.param("CHF 12'345.60", "12,345", id="thousands in another country"),
        pytest.param("2026年11月19日的会议", "19 Nov 2026", id="a day in China"),
        pytest.param("from 3f9a2c7d81b04e6f9c5d2a1b8e7f60314d5c9b2a on", "3f9a2c7d8", id="beginning of a hash"),
        pytest.param("request 7b1c2f0e-93aa-4d51-8f3e-0a1b2c3d4e5f", "7B1C2F0E-93a", id="beginning of a UUID"),
        pytest.param("see note_0a1b2c3d4e5f", "note_0a1b2c3", id="beginning of an id"),
    ],
)
def test_what_is_written_can_be_found(index: LexicalIndex, text: str, question: str) -> None:
    filled(index, wanted=text, other="nothing of it, 00 nor 20260101 nor 3f9a1c7d81b04e6f9c5d2a1b8e7f60314d5c9b2a")
    first, *others = index.search(question, filter=EVERYONE, limit=9).hits
    assert first.record_id == "wanted"
    assert all(hit.coverage < 0.5 * first.coverage for hit in others)


def test_an_identifier_ranks_the_record_that_spells_it_first(index: LexicalIndex) -> None:
    filled(
        index, parts="the pool size and the max pool size of max", exact="set MAX_POOL_SIZE in the environment for this"
    )
    assert find(index, "max_pool_size")[0] == "exact"


@pytest.mark.parametrize(
    ("code", "name"),
    [("graph.add_node(root)", "add_node"), ("return self.parentNode.first", "parentNode"),
     ("@checked_twice\ndef run(): ...", "checked_twice"), ("nltk.WordPunctTokenizer().split()", "WordPunctTokenizer"),
     ("run --dry_run=yes", "dry_run")],
)  # fmt: skip
def test_a_name_is_found_to_the_letter_within_a_path_and_behind_a_sign(
    index: LexicalIndex, code: str, name: str
) -> None:
    words = " ".join(analyse(name))
    filled(index, apart=f"{words}: {words}, {words}", exact=f"{code} and many other things that make it longer")
    plain, within = (
        {hit.record_id: hit.coverage for hit in index.search(asked, filter=EVERYONE, limit=10).hits}
        for asked in (name, f"other.{name}")
    )
    assert plain["exact"] == pytest.approx(1)
    assert plain.get("apart", 0.0) < 0.9
    assert within["exact"] > within.get("apart", 0.0)


def test_the_parts_of_a_version_and_plain_words_are_no_names() -> None:
    text = "v2.4.1 of node.js at python3.11, e.g. on x86-64 or state-of-the-art machines of GitHub.com, iso-27001"
    found = identifiers(text)
    assert "github" in found
    assert not {"v2", "4", "node", "js", "python3", "11", "x86", "64", "state", "art", "iso", "27001"} & set(found)


@pytest.mark.parametrize(
    ("question", "saying"),
    [("clip to seconds", {"name", "prose"}), ("how to clip to seconds", {"name", "prose"}),
     ("clipped to the seconds", {"prose"}), ("seconds clip", set()), ("clip", {"name", "prose", "apart"}),
     ("to the", set()), ("", set())],
)  # fmt: skip
def test_a_record_says_what_it_has_one_word_behind_the_other(
    index: LexicalIndex, question: str, saying: set[str]
) -> None:
    filled(
        index,
        name="def clip_to_seconds(text): ...",
        prose="Clip to seconds, or clip to the second.",
        apart="def clip(seconds): ...",
    )
    found = index.search(question, filter=EVERYONE, limit=10)
    assert index.saying(found, ["name", "prose", "apart", "nobody"]) == saying
    assert index.saying(found, []) == set()
    assert index.saying(found, ["apart"]) == saying & {"apart"}


@pytest.mark.parametrize(
    ("question", "is_prose"),
    [("add a node", True), ("how does add_node work", False), ("self.addNode", False),
     ("where is unknown_thing, of which nothing is held", True), ('it says "a node"', False)],
)  # fmt: skip
def test_a_question_with_an_identifier_or_a_phrase_is_no_prose(
    index: LexicalIndex, question: str, is_prose: bool
) -> None:
    filled(index, one="self.add_node(self.addNode)")
    asked = index.search(question, filter=EVERYONE, limit=10).question
    assert asked.is_prose == is_prose


def test_a_quoted_phrase_is_required(index: LexicalIndex) -> None:
    filled(index, near="connection pool exhausted", far="the pool of the connection")
    assert set(find(index, "connection pool")) == {"near", "far"}
    assert find(index, 'where is "connection pool"') == ["near"]
    assert find(index, "“pool of the connection”") == ["far"]
    assert find(index, '"no such words" connection') == []


def test_a_phrase_does_not_run_from_the_name_into_the_content(index: LexicalIndex) -> None:
    index.apply(batch(1, record("a", "river bank", name="green")))
    assert find(index, '"green river"') == []
    assert find(index, '"river bank"') == ["a"]


def test_a_hundred_kilobytes_of_question_are_answered(index: LexicalIndex) -> None:
    filled(index, a="needle", b="hay")
    question = "needle " + " ".join(f"word{number}x{number * 7}" for number in range(9_000))
    found = index.search(question, filter=EVERYONE, limit=10)
    assert len(found.terms) == 64
    assert len(question) > 100_000


def test_coverage_weighs_the_terms_a_record_holds_against_all_terms(index: LexicalIndex) -> None:
    filled(index, both="amber kettle", one="amber", other="kettle of fish", filler="fish")
    full = {hit.record_id: hit.coverage for hit in index.search("amber kettle", filter=EVERYONE, limit=9).hits}
    assert full == pytest.approx({"both": 1.0, "one": 0.5, "other": 0.5})
    absent = {hit.record_id: hit.coverage for hit in index.search("amber xylophone", filter=EVERYONE, limit=9).hits}
    assert absent["one"] < 0.5


def test_somebody_elses_odd_spelling_of_a_common_word_is_no_term_of_a_question(index: LexicalIndex) -> None:
    filled(index, plain="the properties of the cache", odd="ProPerties of something else", other="the cache")
    found = index.search("properties of the cache", filter=EVERYONE, limit=10).hits
    assert {hit.record_id: hit.coverage for hit in found}["plain"] == pytest.approx(1)


def test_an_identifier_in_lower_case_covers_the_record_that_spells_it_in_camel_case(index: LexicalIndex) -> None:
    filled(index, tiktok="she posts on TikTok", other="a clock goes tick tock")
    best = index.search("tiktok", filter=EVERYONE, limit=10).hits[0]
    assert (best.record_id, best.coverage) == ("tiktok", pytest.approx(1))


def test_several_of_an_acronym_ask_for_no_more_than_one(index: LexicalIndex) -> None:
    filled(index, one="one PDF a night", several="PDFs at night", other="a clock goes tick tock")
    for question in ("PDF", "PDFs"):
        found = index.search(question, filter=EVERYONE, limit=10).hits
        assert {hit.record_id: hit.coverage for hit in found} == pytest.approx({"one": 1, "several": 1})
    # In small letters it is found as it is written.
    assert find(index, "pdfs") == ["several"]


def test_filters_apply_before_the_limit(index: LexicalIndex) -> None:
    others = [record(f"o{number:02}", "tea tea tea", visibility="private:x") for number in range(50)]
    index.apply(batch(1, *others, record("mine", "tea with a great many other words", visibility="private:me")))
    keys = frozenset({"private:me"}) | {f"project:{number}" for number in range(1_000)}
    assert find(index, "tea", IndexFilter(keys), limit=1) == ["mine"]
    assert find(index, "tea", IndexFilter(frozenset())) == []


def test_facets_and_times_filter_case_insensitively(index: LexicalIndex) -> None:
    index.apply(
        batch(
            1,
            record("a", "tea", entity_type="Task", languages=("Python", "Go"), metadata={"status": "Doing"}),
            record("b", "tea", entity_type="task", metadata={"assignees": ["Ann"]}, updated_at=NOW + timedelta(days=2)),
        )
    )

    def matching(**any_of: set[str]) -> list[str]:
        accepted = {facet: frozenset(values) for facet, values in any_of.items()}
        return find(index, "tea", IndexFilter(frozenset({ORGANIZATION}), accepted))  # type: ignore[arg-type]

    assert matching(entity_type={"TASK"}) == ["a", "b"]
    assert matching(language={"go"}, status={"doing", "done"}) == ["a"]
    assert matching(assignee={"ANN"}) == ["b"]
    assert matching(assignee={"ann"}, language={"go"}) == []
    assert matching(entity_type=set()) == []
    since = IndexFilter(frozenset({ORGANIZATION}), updated_since=NOW + timedelta(days=1))
    assert find(index, "tea", since) == ["b"]
    until = IndexFilter(frozenset({ORGANIZATION}), updated_until=NOW)
    assert find(index, "tea", until) == ["a"]
    for ids in (frozenset({"b", "unknown"}), frozenset[str]()):
        assert find(index, "tea", IndexFilter(frozenset({ORGANIZATION}), ids=ids)) == sorted(ids - {"unknown"})


@given(st.text(max_size=40))
def test_preparing_and_comparing_twice_changes_nothing(text: str) -> None:
    for fold in (comparable, folded):
        assert fold(fold(text)) == fold(text)
    assert prepare(prepare(text)) == prepare(text)


def test_a_text_that_is_not_held_is_weighed_as_if_it_were(index: LexicalIndex) -> None:
    held = [record(f"h{number}", "tea with milk", name=f"Cup {number}") for number in range(9)]
    then = [record("x", "coffee with milk and FooBar.baz()", name="The Who"), record("y", "tea tea", name="Pot")]
    index.apply(batch(1, *held, *then))
    for question in ("milk", "coffee tea", "the who", '"with milk"', '"milk with"', "foobar.baz", "nothing"):
        weighed = index.weigh(question, then, visibility=EVERYONE.visibility, limit=9)
        whole = index.search(question, filter=IndexFilter(frozenset({ORGANIZATION}), ids=frozenset("xy")), limit=9)
        assert ids(weighed) == ids(whole), question
        assert weighed.named == whole.named
        assert [hit.coverage for hit in weighed.hits] == pytest.approx([hit.coverage for hit in whole.hits], abs=1e-4)
        assert all(0 <= hit.score <= weighed.ceiling for hit in weighed.hits)


def test_equal_scores_are_ordered_by_id_whatever_the_order_of_writing(index: LexicalIndex) -> None:
    names = [f"r{number:03}" for number in range(300)]
    for sequence, start in enumerate((200, 0, 100), start=1):
        index.apply(batch(sequence, *(record(name, "tea") for name in reversed(names[start : start + 100]))))
    assert find(index, "tea", limit=5) == names[:5]


def test_what_happened_is_found_in_one_order_whatever_the_order_of_writing(index: LexicalIndex) -> None:
    names, day = [f"r{number:03}" for number in range(90)], {"captured_at": "2026-02-03"}
    for sequence, start in enumerate((60, 0, 30), start=1):
        texts = reversed(names[start : start + 30])
        index.apply(batch(sequence, *(record(name, "tea", metadata=day) for name in texts)))
    spans = [(datetime(2026, 2, 3, tzinfo=UTC), datetime(2026, 2, 4, tzinfo=UTC))]
    for text in ("tea", "no word that is known"):
        assert index.happened_in(spans, text, filter=EVERYONE, limit=40) == names[:40]


def test_compacting_removes_deleted_text_from_disk(tmp_path: Path) -> None:
    folder = tmp_path / "lexical"
    index = LexicalIndex(folder)
    index.apply(batch(1, record("a", "zanzibar"), record("b", "tea time"), record("c", "quokka")))
    index.apply(batch(2, record("c", "tea leaf", revision=2), deleted=("a",)))
    assert index.erasable == 2
    assert on_disk(folder, b"zanzibar")
    index.compact()
    assert index.erasable == 0
    assert not on_disk(folder, b"zanzibar")
    assert not on_disk(folder, b"quokka")
    assert index.contents() == {"b": 1, "c": 2}
    assert find(index, "tea") == ["b", "c"]
    assert find(index, "zanzibar") == []
    index.apply(batch(3, record("d", "tea")))
    index.close()
    again = LexicalIndex(folder)
    assert again.position() == Position("epoch", 3, "batch-3")
    assert sorted(again.contents()) == ["b", "c", "d"]
    again.close()


def test_searches_go_on_while_others_write_and_compact(index: LexicalIndex) -> None:
    filled(index, a="tea", b="tea")
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            try:
                found = find(index, 'tea "tea" kettle')
            except Exception as error:  # noqa: BLE001 - reported by the assertion below
                wrong.append(error)
                return
            if found != ["a", "b"]:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(2, 20):
        index.apply(batch(number, record("b", f"tea {number}", revision=number), record(f"x{number}", "milk")))
        if number % 6 == 0:
            index.compact()
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_half_built_generation_is_ignored_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "lexical"
    index = LexicalIndex(folder)
    filled(index, a="tea").close()
    (folder / "building").mkdir()
    (folder / "building" / "meta.json").write_text("{")
    (folder / "0-7").mkdir()
    again = LexicalIndex(folder)
    assert find(again, "tea") == ["a"]
    assert [entry.name for entry in folder.iterdir()] == [f"{FORMAT}-1"]
    again.close()


def test_a_refused_record_leaves_the_index_as_it_was(index: LexicalIndex) -> None:
    filled(index, a="tea")
    broken = record("b", "coffee", revision="x")  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        index.apply(batch(2, record("a", "coffee"), broken))
    index.apply(batch(3, record("c", "milk")))
    assert index.contents() == {"a": 1, "c": 1}
    assert find(index, "coffee") == []


WORDS = st.sampled_from(["tea", "coffee", "milk", "sugar", "kettle"])
KEYS = st.sampled_from([ORGANIZATION, "private:a", "project:p"])
CONTENT = st.lists(WORDS, max_size=4).map(" ".join)
STEP = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 5), CONTENT, KEYS),
    st.tuples(st.just("delete"), st.integers(0, 5), st.just(""), st.just("")),
    st.tuples(st.sampled_from(["compact", "prepare"]), st.just(0), st.just(""), st.just("")),
    st.tuples(st.just("reopen"), st.just(0), st.just(""), st.just("")),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=12), visible=st.sets(KEYS), word=WORDS)
def test_any_history_leaves_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str, str]], visible: set[str], word: str
) -> None:
    folder = tmp_path_factory.mktemp("lexical")
    index = LexicalIndex(folder)
    model: dict[str, tuple[int, str, str]] = {}
    reached = None
    for sequence, (verb, number, content, key) in enumerate(steps, start=1):
        record_id = f"r{number}"
        if verb in ("put", "delete"):
            reached = Position("epoch", sequence, f"batch-{sequence}")
        if verb == "put":
            model[record_id] = (sequence, content, key)
            index.apply(batch(sequence, record(record_id, content, revision=sequence, visibility=key)))
        elif verb == "delete":
            model.pop(record_id, None)
            index.apply(batch(sequence, deleted=(record_id,)))
        elif verb != "reopen":
            {"compact": index.compact, "prepare": index.prepare}[verb]()
        else:
            index.close()
            index = LexicalIndex(folder)
    assert index.position() == reached
    assert index.contents() == {record_id: revision for record_id, (revision, _, _) in model.items()}
    expected = {name for name, (_, content, key) in model.items() if word in content.split() and key in visible}
    assert set(find(index, word, IndexFilter(frozenset(visible)))) == expected
    index.close()


@pytest.mark.slow
def test_after_a_kill_the_position_and_the_records_agree(tmp_path: Path) -> None:
    folder = tmp_path / "lexical"
    script = """
        import sys
        from pathlib import Path
        from tests.stores.lexical.test_index import LexicalIndex, batch, record
        index = LexicalIndex(Path(sys.argv[1]))
        start = index.position().sequence if index.position() else 0
        for number in range(start + 1, 100_000):
            index.apply(batch(number, record(f"r{number % 50}", f"tea number{number}", revision=number)))
            if number % 25 == 0:
                index.compact()
            print(number, flush=True)
        """
    for acknowledged in killed(script, folder, (5, 30, 51)):
        index = LexicalIndex(folder)
        position = index.position()
        assert position.sequence >= acknowledged
        assert max(index.contents().values()) == position.sequence
        index.close()


def test_what_happened_in_a_span_is_told_of_the_records_that_were_asked_about(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path / "lexical")
    said = {"captured_at": "2023-05-07T10:00:00+02:00"}
    index.apply(
        batch(
            1,
            record("named", "text", metadata=said),
            record("first", "text", metadata=said | {"occurred_at": "2023-05-08"}),
            record("kept", "text", metadata={"captured_at": "some day"}),
            record("chunk", "text", entity_type="document", source_id="s"),
            record("month", "text", metadata=said | {"occurred_at": "2023-06"}),
        )
    )
    day, may = timedelta(days=1), datetime(2023, 5, 7, 8, tzinfo=UTC)
    everything = ["named", "first", "kept", "chunk", "month", "unknown"]
    assert index.happened(everything, [(may, may + day)]) == {"named", "first"}
    assert index.happened(["named"], [(may, may + day)]) == {"named"}
    june, july = datetime(2023, 6, 1, tzinfo=UTC), datetime(2023, 7, 1, tzinfo=UTC)
    for start, end in ((june, july), (june + 9 * day, june + 10 * day), (may, june + day), (july - day, NOW)):
        assert "month" in index.happened(everything, [(start, end)])
    assert index.happened(everything, [(NOW, NOW + day), (may, may + timedelta(hours=1))]) == {"named", "kept"}
    nothing = [(everything, [(may - day, may)]), (["month"], [(may, june), (july, NOW)]), ([], [(may, june)])]
    assert [index.happened(asked, spans) for asked, spans in nothing] == [set()] * 3
    assert index.happened(everything, []) == set()
    index.close()


FUNCTION = "def brew(leaves):\n    return pour(leaves, water)\n"


def test_whose_content_is_code_is_known_after_changes_opening_and_compacting(tmp_path: Path) -> None:
    first = LexicalIndex(tmp_path / "lexical")
    first.apply(batch(1, record("a", FUNCTION), record("b", "We brew tea."), record("c", FUNCTION)))
    assert first.code_among(["b", "a", "unknown", "c"]) == [False, True, False, True]
    first.apply(batch(2, record("a", "We brew no more."), record("d", FUNCTION), deleted=("c",)))
    assert first.code_among("abcd") == [False, False, False, True]
    first.close()
    again = LexicalIndex(tmp_path / "lexical")
    assert again.code_among("abcd") == [False, False, False, True]
    again.compact()
    again.apply(batch(3, record("b", FUNCTION)))
    assert again.code_among("abcd") == [False, True, False, True]
    again.close()


def test_the_name_of_a_record_does_not_make_it_code(index: LexicalIndex) -> None:
    index.apply(batch(1, record("a", "It pours.", name=FUNCTION)))
    assert index.code_among(["a"]) == [False]


@pytest.mark.parametrize(
    "question", ["amber xylograph", "amber Xylo-Graph_7", "xylograph", '"amber" xylographs kettle']
)
def test_a_word_that_only_hidden_records_hold_changes_no_score(tmp_path: Path, question: str) -> None:
    results = []
    for name, hidden in (("one", "a xylograph Xylo-Graph_7"), ("other", "a heronshaw Hero-Nshaw_8")):
        index = LexicalIndex(tmp_path / name)
        mine = [record(each, f"amber kettle {each}") for each in ("first", "second")]
        index.apply(batch(1, *mine, record("hidden", hidden, visibility="private:bob")))
        results.append(index.search(question, filter=EVERYONE, limit=9))
        index.close()
    assert results[0] == results[1]


def test_what_one_may_not_see_or_is_gone_changes_no_score(tmp_path: Path) -> None:
    def written(name: str, more: list[Entity], gone: tuple[str, ...] = ()) -> LexicalResult:
        index = LexicalIndex(tmp_path / name)
        index.apply(batch(1, *(record(each, text) for each, text in texts.items()), *more))
        index.apply(batch(2, deleted=gone))
        found = index.search("amber tea for two", filter=EVERYONE, limit=9)
        index.close()
        return found

    texts = {"a": "amber tea", "b": "black tea", "c": "green tea for two"} | {
        f"d{place}": "milk, cold, skimmed" for place in range(60)
    }
    text = "amber two cups " * 9
    more = [record(f"h{place}", text, visibility="private:bob") for place in range(30)]
    alone = written("alone", [])
    assert sorted(ids(alone)) == ["a", "b", "c"]
    for found in (
        written("hidden", more),
        written("deleted", [record(each.id, text) for each in more], tuple(each.id for each in more)),
    ):
        assert found.terms == alone.terms
        assert found.ceiling == pytest.approx(alone.ceiling, rel=1e-5)
        assert ids(found) == ids(alone)
        assert [hit.coverage for hit in found.hits] == pytest.approx([hit.coverage for hit in alone.hits], rel=1e-5)
        assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in alone.hits], rel=1e-5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 300), st.booleans()), min_size=1, max_size=6),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from(["amber", "amber kettle", "amber Xylo-Graph_7", "Xylo-Graph_7"]),
)
def test_others_texts_hardly_move_a_score_however_long_they_are(
    tmp_path_factory: pytest.TempPathFactory, mine: list[tuple[int, int, bool]], hidden: list[int], question: str
) -> None:
    records = [
        record(f"m{place}", "amber " * count + "kettle " + "Xylo-Graph_7 " * exact + "filler " * more)
        for place, (count, more, exact) in enumerate(mine)
    ]
    others = [
        record(f"h{place}", "amber Hero-Nshaw_8 " * count, visibility="private:bob")
        for place, count in enumerate(hidden)
    ]
    scores = []
    for entities in (records, [*records, *others]):
        index = LexicalIndex(tmp_path_factory.mktemp("index"))
        index.apply(batch(1, *entities))
        found = index.search(question, filter=EVERYONE, limit=99).hits
        index.close()
        scores.append({hit.record_id: hit.score for hit in found})
    alone, beside = scores
    assert beside.keys() == alone.keys()
    repeats = {f"m{place}" for place, (count, _, exact) in enumerate(mine) if count > 1}
    for record_id, score in alone.items():
        assert beside[record_id] == pytest.approx(score, rel=0.1 if record_id in repeats else 1e-4)


def test_what_one_sees_is_asked_again_after_each_write(index: LexicalIndex) -> None:
    def idf(word: str) -> float:
        return index.search(word, filter=EVERYONE, limit=9).terms[word]

    index.apply(batch(1, record("a", "tea")))
    assert idf("tea") < idf("xylograph")
    index.apply(batch(2, record("b", "xylograph", visibility="private:bob")))
    assert idf("xylograph") == idf("heronshaw")
    index.apply(batch(3, record("b", "xylograph")))
    assert idf("xylograph") < idf("heronshaw")
    index.apply(batch(4, record("c", "heronshaw", visibility="private:bob"), deleted=("b",)))
    assert idf("heronshaw") == idf("xylograph")
