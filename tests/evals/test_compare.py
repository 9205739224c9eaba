"""Two runs beside each other, and the gate, on cases whose right answer is known."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

import pytest

from evals.commands import judge_run, show_report, write_baseline
from evals.comparison import as_table, compare
from evals.gate import judge
from evals.options import Options
from evals.reports.figures import HEADLINE, summaries
from evals.results import Case, Outcome, Part
from evals.runs import Archive, Journal, Stored, new_record
from evals.runs.baseline import Header, as_lines, read_baseline
from stores.errors import EngrainError

N = 60


def case(number: int, value: float, *, arm: str = "fast", cluster: str = "", took_ms: float = 10.0) -> Case:
    return Case(
        "talks", arm, "turn", f"q{number}", {"recall@10": value, "MRR@10": value / 2}, cluster,
        "odd" if number % 2 else "even", question="?", wanted={"a": 1}, found=("b",), took_ms=took_ms,
    )  # fmt: skip


def run(name: str, values: list[float], **more: object) -> Stored:
    cases = [case(number, value, **more) for number, value in enumerate(values)]  # type: ignore[arg-type]
    return Stored(name, None, cases, [Part("talks", "fast", "turn", 9, "recall@10", 0.5, 0.9, 30)])


GOOD = run("good", [1.0] * N)


def test_the_same_run_differs_by_nothing_and_passes_the_gate() -> None:
    lines = compare(GOOD, GOOD).lines
    assert {line.category for line in lines} == {HEADLINE, "odd", "even"}
    assert all(line.difference.interval.mean == 0 and line.verdict == "no difference seen" for line in lines)
    assert judge(GOOD, GOOD).is_open


def test_a_clear_fall_is_seen_and_closes_the_gate() -> None:
    worse = run("worse", [0.0] * 20 + [1.0] * 40)
    (headline,) = [line for line in compare(GOOD, worse).lines if line.is_headline]
    assert (headline.measure, headline.n, headline.verdict) == ("recall@10", N, "worse")
    assert headline.difference.interval.mean == pytest.approx(-1 / 3)
    assert headline.difference.p < 0.001
    verdict = judge(GOOD, worse)
    assert not verdict.is_open
    assert verdict.failures[0].startswith("talks, fast: recall@10 fell from 1.000 to 0.667 (-0.333 [")
    assert judge(worse, GOOD).is_open
    assert [line.verdict for line in compare(worse, GOOD).lines if line.is_headline] == ["better"]


def test_a_run_does_not_choose_what_it_is_judged_by() -> None:
    worse = run("worse", [0.0] * 20 + [1.0] * 40)
    kind = replace(worse, cases=[replace(each, values={**each.values, "any-hit@10": 1.0}) for each in worse.cases])
    kind = replace(kind, parts=[replace(kind.parts[0], measure="any-hit@10")])
    verdict = judge(GOOD, kind)
    assert verdict.failures[0].startswith("talks, fast: recall@10 fell from 1.000 to 0.667")
    said = "talks is judged by recall@10, as in good; in worse it is by any-hit@10."
    assert said in verdict.comparison.remarks
    assert not [each for each in compare(GOOD, worse).remarks if "is judged by" in each]


def test_a_fall_within_noise_leaves_the_gate_open() -> None:
    noisy = run("noisy", [0.0, 0.0, 1.0, 1.0] + [1.0] * (N - 4))
    before = run("before", [1.0, 1.0, 0.0, 1.0] + [1.0] * (N - 4))
    (headline,) = [line for line in compare(before, noisy).lines if line.is_headline]
    assert headline.difference.interval.mean < 0
    assert judge(before, noisy).is_open


def test_questions_of_one_conversation_do_not_close_the_gate_together() -> None:
    """One of three conversations got worse: with so few of them that may be chance."""
    cases = [[case(n, 1.0, cluster=str(n // 20)) for n in range(N)], []]
    cases[1] = [replace(one, values={"recall@10": 0.0}) if one.cluster == "0" else one for one in cases[0]]
    before, after = (Stored(name, None, found, GOOD.parts) for name, found in zip("ab", cases, strict=True))
    assert judge(before, after).is_open


@pytest.mark.parametrize(
    ("clusters", "verdict"),
    [(1, "too few clusters to say"), (2, "too few clusters to say"), (5, "too few clusters to say"), (6, "worse")],
)
def test_with_few_conversations_nothing_is_said_and_the_gate_goes_by_the_interval(clusters: int, verdict: str) -> None:
    before = [case(n, 1.0, cluster=str(n % clusters)) for n in range(N)]
    after = [replace(one, values={"recall@10": 0.5}) for one in before]
    first, second = Stored("a", None, before, GOOD.parts), Stored("b", None, after, GOOD.parts)
    (headline,) = [line for line in compare(first, second).lines if line.is_headline]
    assert (headline.difference.clusters, headline.verdict) == (clusters, verdict)
    verdicts = judge(first, second)
    assert not verdicts.is_open
    assert ("over questions, as there is one cluster" in verdicts.failures[0]) == (clusters == 1)
    if clusters == 1:
        assert "the interval is over questions" in as_table(verdicts.comparison).note


def test_a_fall_within_noise_of_one_conversation_leaves_the_gate_open() -> None:
    before = [case(n, float(n % 3 > 0), cluster="one") for n in range(N)]
    after = [replace(one, values={"recall@10": float(n % 3 > 1 or n == 0)}) for n, one in enumerate(before)]
    noisy = [one if n > 6 else other for n, (one, other) in enumerate(zip(before, after, strict=True))]
    verdict = judge(Stored("a", None, before, GOOD.parts), Stored("b", None, noisy, GOOD.parts))
    (headline,) = [line for line in verdict.comparison.lines if line.is_headline]
    assert headline.difference.interval.mean < 0 <= headline.difference.interval.high
    assert verdict.is_open


def test_what_the_gate_cannot_judge_is_said_and_refused(tmp_path: Path) -> None:
    before, after = ([replace(GOOD.cases[0], values={"recall@10": value})] for value in (1.0, 0.5))
    more = [replace(one, set="more") for one in GOOD.cases]
    verdict = judge(Stored("a", None, [*before, *more], ()), Stored("b", None, [*after, *more], ()))
    assert (verdict.is_open, verdict.failures) == (False, [])
    assert verdict.unjudged[0].startswith("talks, fast: 1 questions of the headline are in both")
    apart = [replace(one, apart=True) for one in GOOD.cases]
    assert judge(GOOD, Stored("apart", None, apart, GOOD.parts)).unjudged
    both = Stored("apart", None, apart, GOOD.parts)
    assert judge(both, both).unjudged == ["All questions of apart are apart, so that no headline decides."]
    (tmp_path / "a.jsonl").write_text(as_lines(before, Header()))
    (tmp_path / "b.jsonl").write_text(as_lines(after, Header()))
    said: list[str] = []
    assert judge_run(str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), None, tmp_path, said.append) == 2
    assert "Cannot be judged: talks, fast" in said[-2]
    assert "says nothing" in said[-1]


def test_what_is_apart_does_not_decide() -> None:
    worse = [replace(one, apart=True, values={"recall@10": 0.0}) for one in GOOD.cases[:30]]
    mixed = Stored("mixed", None, [*worse, *GOOD.cases[30:]], GOOD.parts)
    before = Stored("before", None, [replace(one, apart=True) for one in GOOD.cases[:30]] + list(GOOD.cases[30:]), ())
    assert judge(before, mixed).is_open


def test_cases_that_are_missing_and_slow_answers_close_the_gate() -> None:
    fewer = Stored("fewer", None, GOOD.cases[1:], GOOD.parts)
    assert "1 cases of the baseline were not measured: talks fast q0" in judge(GOOD, fewer).failures[0]
    slow = run("slow", [1.0] * N, took_ms=31.0)
    assert judge(GOOD, slow).is_open
    assert judge(GOOD, slow, most_p50_ms=30).failures == ["talks, fast: p50 is 31.00 ms, above 30 ms (n = 60)."]


def test_a_category_called_all_is_not_the_headline() -> None:
    apart = [case(n, 0.0) for n in range(N, N + 20)]
    before, after = (
        [replace(one, category="all", apart=one in apart) for one in [*cases, *apart]]
        for cases in (GOOD.cases, run("worse", [0.0] * 20 + [1.0] * 40).cases)
    )
    first, second = Stored("a", None, before, GOOD.parts), Stored("b", None, after, GOOD.parts)
    headline, *others = compare(first, second).lines
    assert (headline.n, headline.before, headline.after) == (N, 1.0, pytest.approx(2 / 3))
    assert [(line.category, line.n) for line in others if line.measure == "recall@10"] == [("all", N + 20)]
    figure = summaries(second)[0].headline
    assert figure is not None
    assert (figure.interval.n, figure.interval.mean) == (N, pytest.approx(2 / 3))
    assert [row[2] for row in as_table(compare(first, second)).rows if row[3] == "recall@10"] == [
        "all", "all (category)",
    ]  # fmt: skip


def test_two_arms_of_one_run_are_compared() -> None:
    both = Stored("both", None, [*GOOD.cases, *(case(n, 0.0, arm="naive") for n in range(N))], GOOD.parts)
    comparison = compare(both, both, ("naive", "fast"))
    assert {line.arms for line in comparison.lines} == {("naive", "fast")}
    assert all(line.verdict == "better" for line in comparison.lines)
    assert "naive / fast" in as_table(comparison).rows[0]


def test_what_has_nothing_in_common_is_refused_and_what_is_alone_is_said() -> None:
    other = Stored("other", None, [replace(one, set="else") for one in GOOD.cases], ())
    with pytest.raises(EngrainError, match="no case in common"):
        compare(GOOD, other)
    more = Stored("more", None, [*GOOD.cases, case(N, 1.0)], GOOD.parts)
    assert compare(GOOD, more).remarks == ["1 cases of more are not in good and were left out."]
    assert compare(more, GOOD).remarks == ["1 cases of more are not in good and were left out."]
    both = Stored("both", None, [*more.cases, case(0, 0.0, arm="naive")], GOOD.parts)
    assert compare(both, GOOD, ("naive", "fast")).remarks == [
        f"{N - 1} cases of good are not in both and were left out."
    ]


@pytest.mark.parametrize(("arms", "run"), [(("naive", "fast"), "good"), (("fast", "naive"), "worse")])
def test_an_arm_that_a_run_has_not_is_named(arms: tuple[str, str], run: str) -> None:
    with pytest.raises(EngrainError, match=f"{run} has no arm naive; it has fast."):
        compare(GOOD, replace(GOOD, name="worse"), arms)


def test_what_chance_hardly_gives_is_never_shown_as_impossible() -> None:
    (row, *_) = as_table(compare(GOOD, run("worse", [0.0] * N))).rows
    assert "<.001" in row
    assert "0.000" not in row[9]
    (row, *_) = as_table(compare(GOOD, run("noisy", [0.0] + [1.0] * (N - 1)))).rows
    assert "1.000" in row[9]


def kept(tmp_path: Path, stored: Stored, started: datetime) -> str:
    record = replace(new_record("retrieval", {"name": stored.name}, {}, {"talks": stored.name}), started_at=started)
    journal = Journal.begin(tmp_path, replace(record, id=f"{started:%H}-{stored.name}"))
    return Archive(tmp_path).finish(journal, Outcome(stored.cases, stored.parts, "words", {"more": 1})).name


def test_runs_are_read_back_as_they_were_by_any_of_their_names(tmp_path: Path) -> None:
    first = kept(tmp_path, GOOD, datetime(2026, 5, 1, 10, tzinfo=UTC))
    second = kept(tmp_path, run("later", [0.5] * N), datetime(2026, 5, 1, 11, tzinfo=UTC))
    archive = Archive(tmp_path)
    found = archive.read("latest~1")
    assert (found.name, list(found.cases), list(found.parts)) == (first, list(GOOD.cases), list(GOOD.parts))
    assert (found.details, found.document) == ("words", {"more": 1})
    assert archive.read("latest").name == archive.read("11").name == second
    assert [record.id for record in archive.records()] == [second, first]
    for run_id, mean in ((first, 1.0), (second, 0.5)):
        record = archive.read(run_id).record
        assert record is not None
        # The other one was on other data.
        points = [(each["run_id"], each["n"], each["mean"], each["p50_ms"]) for each in archive.points(record)]
        assert points == [(run_id, N, mean, 10.0)]
    assert "data is not the same" in " ".join(compare(found, archive.read("latest")).remarks)
    record = archive.read("latest").record
    assert record is not None
    late = "ENGRAIN_LATE_INTERACTION"
    without, with_it = (
        replace(archive.read("latest"), record=replace(record, settings={"server": {"ledger": "sqlite", late: value}}))
        for value in ("false", "true")
    )
    (remark,) = [each for each in compare(without, with_it).remarks if each.startswith("settings")]
    assert remark == f"settings is not the same: server {late} false before, server {late} true after."
    more = replace(archive.read("latest"), record=replace(record, data={"talks": "later", "talks unanswered": "x"}))
    # What one of them asked besides is no other data of what both did.
    assert "data is not the same" not in " ".join(compare(archive.read("latest"), more).remarks)
    for name, word in (("nowhere", "no finished run"), ("1", "Several runs"), ("latest~2", "2 finished runs")):
        with pytest.raises(EngrainError, match=word):
            archive.read(name)


def test_runs_on_other_data_or_samples_are_not_beside_a_run_and_medians_are_those_of_the_tables(tmp_path: Path) -> None:
    times = [replace(one, took_ms=float(number)) for number, one in enumerate(GOOD.cases)]
    timed, names = replace(GOOD, cases=times), []
    here = None
    for limit, url, data, at_once in (
        (None, here, "a", 1),
        (None, here, "a", 1),
        (None, here, "b", 1),
        (5, here, "a", 1),
        (None, here, "a", 4),
        (None, "http://127.0.0.1:1", "a", 1),
        (None, here, "a", 1),
    ):
        command, settings = {"limit": limit, "url": url}, {"concurrency": at_once}
        record = new_record("retrieval", command, settings, {"talks": data, "more": "c"})
        journal = Journal.begin(tmp_path, record)
        names.append(Archive(tmp_path).finish(journal, Outcome(timed.cases, timed.parts)).name)
    # What was removed is to be forgotten.
    rmtree(tmp_path / names[-1])
    archive = Archive(tmp_path)
    first = archive.read(names[0]).record
    assert first is not None
    points = archive.points(first)
    assert sorted(point["run_id"] for point in points) == sorted(names[:2])
    taken = summaries(timed)[0].latency
    assert taken is not None
    assert {point["p50_ms"] for point in points} == {taken.p50} == {29.0}


def test_a_page_is_written_where_the_database_cannot_be_read(tmp_path: Path) -> None:
    name, said = kept(tmp_path, GOOD, datetime.now(UTC)), list[str]()
    (tmp_path / "runs.duckdb").write_bytes(b"x" * 4_096)
    assert show_report(name, Options(runs=tmp_path, html_file=tmp_path / "r.html"), said.append) == 0
    assert "The page has no other runs beside this one: " in " ".join(said)
    assert "<section" in (tmp_path / "r.html").read_text()


def test_other_libraries_and_processors_are_remarked_upon_and_no_run_goes_on_with_them(tmp_path: Path) -> None:
    record = new_record("retrieval", {"name": "run"}, {}, {"talks": "a"})
    journal = Journal.begin(tmp_path, record)
    journal.add(GOOD.cases[0])
    journal.close()
    for changed in (
        replace(record, versions={**record.versions, "onnxruntime": "0.0.1"}),
        replace(record, machine={**record.machine, "instructions": "another"}),
    ):
        with pytest.raises(EngrainError, match=r"onnxruntime|another"):
            Journal.begin(tmp_path, changed)
        remarks = compare(replace(GOOD, record=record), replace(GOOD, record=changed)).remarks
        assert [each.partition(" ")[0] for each in remarks] in (["versions"], ["instructions"])
    other = replace(record, machine={**record.machine, "processor": "another", "load_1min": 9.9})
    assert [*compare(replace(GOOD, record=record), replace(GOOD, record=other)).remarks] == [
        f"machine is not the same: processor {record.machine['processor']} before, processor another after."
    ]


def test_the_latest_run_is_the_one_that_was_finished_last(tmp_path: Path) -> None:
    resumed = Journal.begin(tmp_path, new_record("retrieval", {"name": "resumed"}, {}, {}))
    later = kept(tmp_path, GOOD, datetime.now(UTC))
    archive = Archive(tmp_path)
    again = archive.finish(resumed, Outcome(GOOD.cases, GOOD.parts)).name
    assert [archive.read(name).name for name in ("latest", "latest~1")] == [again, later]
    assert [record.id for record in archive.records()] == [again, later]


def test_an_unfinished_run_without_answers_makes_way_for_another_configuration(tmp_path: Path) -> None:
    first = Journal.begin(tmp_path, new_record("retrieval", {"name": "a"}, {"concurrency": 1}, {}))
    first.close()
    second = Journal.begin(tmp_path, new_record("retrieval", {"name": "a"}, {"concurrency": 2}, {}))
    assert [record.settings for record in Archive(tmp_path).records()] == [{"concurrency": 2}]
    second.close()


def test_a_baseline_holds_the_cases_without_their_texts(tmp_path: Path) -> None:
    file = tmp_path / "baseline.jsonl"
    file.write_text(as_lines(GOOD.cases, Header()))
    assert read_baseline(file).cases == [replace(one, question="") for one in GOOD.cases]
    assert judge(Archive(tmp_path).read(str(file)), run("worse", [0.0] * N)).failures
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(EngrainError, match="holds no cases"):
        read_baseline(tmp_path / "other.jsonl")


def by_mrr(values: list[float]) -> Stored:
    """A run that is judged by another measure than one would guess."""
    found = run("run", values)
    return replace(found, parts=[replace(part, measure="MRR@10") for part in found.parts])


def test_a_baseline_says_by_what_its_sets_are_judged_and_on_which_data(tmp_path: Path) -> None:
    archive, said = Archive(tmp_path), list[str]()
    first = kept(tmp_path, by_mrr([1.0] * N), datetime.now(UTC))
    files = [str(tmp_path / name) for name in ("first.jsonl", "other.jsonl")]
    assert write_baseline(first, Path(files[0]), tmp_path, said.append) == 0
    other = Header(data={"talks": "other"}, measures={"talks": "MRR@10"})
    Path(files[1]).write_text(as_lines(run("other", [0.0] * N).cases, other))
    read = archive.read(files[0])
    assert (read.data, [(part.measure, part.texts) for part in read.parts]) == ({"talks": "run"}, [("MRR@10", None)])
    for after in (first, files[1]):
        (headline,) = [line for line in compare(read, archive.read(after)).lines if line.is_headline]
        assert headline.measure == "MRR@10"
    assert compare(read, archive.read(first)).remarks == []
    remark = "data is not the same: talks run before, talks other after."
    assert compare(read, archive.read(files[1])).remarks == [remark]
    assert judge_run(files[0], files[1], None, tmp_path, said.append) == 1
    assert show_report(files[0], Options(runs=tmp_path, markdown_file=tmp_path / "r.md"), said.append) == 0
    assert f"| talks | fast | turn | {N} | - | MRR@10 | .500 [.500, .500] |" in (tmp_path / "r.md").read_text()


def test_a_baseline_says_of_the_processor_what_figures_hang_on(tmp_path: Path) -> None:
    archive, said, file = Archive(tmp_path), list[str](), tmp_path / "first.jsonl"
    assert write_baseline(kept(tmp_path, GOOD, datetime.now(UTC)), file, tmp_path, said.append) == 0
    here, other = archive.read("latest"), tmp_path / "other.jsonl"
    other.write_text(as_lines(GOOD.cases, Header(instructions="abacus")))
    assert archive.read(str(file)).instructions == here.instructions
    assert compare(archive.read(str(file)), here).remarks == []
    if here.instructions is not None:
        remark = f"instructions is not the same: abacus before, {here.instructions} after."
        assert remark in compare(archive.read(str(other)), here).remarks


def test_a_baseline_without_a_header_is_judged_as_the_run_is_or_says_that_it_guesses(tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    file.write_text("".join(as_lines(GOOD.cases, Header()).splitlines(keepends=True)[1:]))
    old = Archive(tmp_path).read(str(file))
    assert len(old.cases) == N
    for pair in ((old, by_mrr([1.0] * N)), (by_mrr([1.0] * N), old)):
        (headline,) = [line for line in compare(*pair).lines if line.is_headline]
        assert headline.measure == "MRR@10"
    assert compare(old, old).remarks == ["By what talks is judged is not known: recall@10 is taken."]


@pytest.mark.parametrize("header", ['{"kind": "baseline", "data": 3}', '{"kind": "baseline", "measures": {"a": []}}'])
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: str) -> None:
    (tmp_path / "b.jsonl").write_text(header + "\n" + as_lines(GOOD.cases, Header()))
    with pytest.raises(EngrainError, match="the header, "):
        read_baseline(tmp_path / "b.jsonl")


@pytest.mark.parametrize(
    ("cases", "measures", "said"),
    [
        pytest.param([*GOOD.cases, GOOD.cases[3]], {}, r"the case 'q3' \(talks, fast\) is there 2 times", id="merged"),
        pytest.param([case(0, -0.1)], {}, "MRR@10 of .q0. .* is -0.05", id="below nothing"),
        pytest.param(GOOD.cases, {"talks": "foo@3"}, "talks is said to be judged by foo@3,", id="unknown"),
    ],
)
def test_what_no_run_can_have_written_is_no_baseline(
    tmp_path: Path, cases: list[Case], measures: dict[str, str], said: str
) -> None:
    (tmp_path / "b.jsonl").write_text(as_lines(cases, Header(measures=measures)))
    with pytest.raises(EngrainError, match=said):
        read_baseline(tmp_path / "b.jsonl")


def test_a_line_that_was_torn_by_a_kill_is_dropped_and_the_others_stay(tmp_path: Path) -> None:
    record = new_record("retrieval", {"name": "torn"}, {}, {})
    journal = Journal.begin(tmp_path, record)
    for one in GOOD.cases[:2]:
        journal.add(one)
    journal.close()
    file = journal.folder / "cases.jsonl"
    file.write_bytes(file.read_bytes() + b'{"set": "talks", "ar')
    again = Journal.begin(tmp_path, new_record("retrieval", {"name": "torn"}, {}, {}))
    for afresh in (False, True):
        with pytest.raises(EngrainError, match="Another process measures"):
            Journal.begin(tmp_path, record, afresh=afresh)
    assert list(again.cases.values()) == list(GOOD.cases[:2])
    again.add(GOOD.cases[2])
    again.close()
    third = Journal.begin(tmp_path, record)
    third.close()
    assert len(third.cases) == 3
