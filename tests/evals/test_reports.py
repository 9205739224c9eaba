"""Reports: one HTML page that needs nothing from elsewhere, Markdown, and the verdicts in them."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from evals.harness.arms import ARMS
from evals.machine import memory_gb
from evals.reports.charts import Bar, Point, Times, distribution, intervals, scatter
from evals.reports.figures import HEADLINE, summaries
from evals.reports.labels import width, wrapped
from evals.reports.page import SERIES, WORST, page
from evals.reports.tables import Table
from evals.reports.text import as_markdown, draw, in_terminal, markdown
from evals.reports.worst import BREAK
from evals.results import Case, Part
from evals.runs import RunRecord, Stored, new_record
from evals.suites import document
from stores import processor

HOSTILE = '<script>alert("x")</script> &lt; & < |'
LOADING = {"src", "href", "srcset", "poster", "data", "action"}
VOID = {"meta", "link", "br", "img", "input", "hr"}


def stored() -> Stored:
    cases = [
        Case(
            "talks", arm, "turn", f"q{number}", {"recall@10": float(number % 4 > 0), "MRR@10": 0.5}, str(number % 5),
            "odd" if number % 2 else "even", number == 9, HOSTILE, {"a": 1}, ("b",), 8.0 + number, 120, (HOSTILE,),
            ("the right one",),
        )
        for arm in ("fast", "naive")
        for number in range(20)
    ]  # fmt: skip
    parts = [Part("talks", arm, "turn", 40, "recall@10", 0.7, 0.9, 30, 2.0, 1.0, 300, 400) for arm in ("fast", "naive")]
    return Stored("run-1", new_record("retrieval", {"sets": ["talks"], "limit": 20}, {}, {"talks": "ab"}), cases, parts)


class Checked(HTMLParser):
    """Notes what a page would load, and whether its elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.loads += [value or "" for name, value in attrs if name in LOADING and not (value or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing() -> None:
    points = [{"run_id": "run-0", "set": "talks", "arm": "fast", "measure": "recall@10", "n": 20, "mean": 0.6,
               "p50_ms": 22.0}]  # fmt: skip
    text = page(stored(), points)
    checked = Checked()
    checked.feed(text)
    checked.close()
    assert checked.open == []
    assert checked.loads == []
    assert not checked.names & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import|https?://", text)
    assert "&lt;script&gt;" in text
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        ElementTree.fromstring(chart)  # noqa: S314 - our own
    assert "a sample of at most 20 questions per set" in text
    assert "prefers-color-scheme: dark" in text


def test_markdown_and_terminal_say_unit_n_and_verdicts() -> None:
    text = markdown(stored())
    assert "| talks | fast | turn | 19 | 40 | recall@10 | .737 [" in text
    assert "| .700 / .900 | passed | 17.0 | 30 | passed |" in text
    assert "| fast | even | 10 | 5 |" in text
    assert '&lt;script>alert("x")&lt;/script> &amp;lt; & < \\|' in text
    assert "<script" not in text
    assert "MISSED" not in in_terminal(stored())


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("![p](http://evil.test/p.png)", "![p]\\(http://evil.test/p.png)"),
        ("a\\|b `c`\n d", "a\\\\\\|b \\`c\\` d"),
        (f"one{BREAK}two <br/>", f"one{BREAK}two &lt;br/>"),
        (".848 [.826, .867]", ".848 [.826, .867]"),
    ],
)
def test_nothing_of_a_text_is_markup_in_markdown(cell: str, expected: str) -> None:
    assert as_markdown(Table("a <b>", ["x"], [[cell]], "<i>")).splitlines() == [
        "## a &lt;b>", "", "| x |", "|---|", f"| {expected} |", "", "&lt;i>",
    ]  # fmt: skip


def test_a_text_does_not_steer_a_terminal() -> None:
    assert "\x1b" not in draw([Table("t", ["a"], [["single\x1b]0;pwn\x07"]], "")])
    run = stored()
    odd = [replace(case, category="a\x1b[2J", question="why\x07 \u202e\x9b?", best=("\x1b]0;b",)) for case in run.cases]
    for report in (markdown(replace(run, cases=odd)), page(replace(run, cases=odd))):
        assert not [each for each in report if each in "\x1b\x07\x9b\u202e"]
        assert "a[2J" in report


def test_every_section_of_a_page_can_be_linked_to() -> None:
    run = stored()
    cases = [replace(case, set="talks unanswered") for case in run.cases]
    both = replace(run, cases=cases, parts=[replace(part, set="talks unanswered") for part in run.parts])
    text = page(both)
    (anchor,) = re.findall(r'<section id="([^"]*)"', text)
    assert " " not in anchor
    assert f'href="#{anchor}"' in text


def test_names_are_no_markup_in_a_terminal() -> None:
    table = Table("odd[/x] \\", ["a"], [["[bold]b"]], "b[bold]x")
    assert all(each in draw([table]) for each in ("odd[/x] \\", "[bold]b", "b[bold]x"))


def test_a_run_says_which_processor_and_how_much_memory_its_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    record = stored().record
    assert record is not None
    assert record.machine["memory_gb"] > 0
    assert f"memory_gb {record.machine['memory_gb']}" in markdown(stored())
    assert record.machine["processor"] == processor.model_name()
    assert RunRecord.of(record.plain()).machine == record.machine

    def unknown(_name: str) -> int:
        raise ValueError

    monkeypatch.setattr("os.sysconf", unknown)
    assert memory_gb() is None
    record = stored().record
    assert record is not None
    assert record.machine["memory_gb"] is None


def test_a_summary_has_percentiles_throughput_and_tokens() -> None:
    first = summaries(stored())[0]
    assert first.latency is not None
    # Nearest rank of 8 to 27 ms.
    assert (first.latency.p50, first.latency.p95, first.latency.p99, first.latency.n) == (17, 26, 27, 20)
    assert (first.queries_per_s, first.tokens) == (20, 120)
    assert first.categories == [HEADLINE, "even", "odd"]


def test_an_arm_of_which_no_time_may_be_told_has_no_throughput_either() -> None:
    run = stored()
    run = replace(run, cases=[replace(case, took_ms=None) for case in run.cases])
    first = summaries(run)[0]
    assert first.part.asking_s
    assert (first.latency, first.queries_per_s) == (None, None)
    assert document(run)["parts"][0]["queries_per_s"] is None


def test_a_category_called_all_is_told_from_the_headline_in_every_report() -> None:
    run = stored()
    run = replace(run, cases=[replace(case, category="all", apart=case.id == "q9") for case in run.cases])
    for text in (markdown(run), page(run)):
        assert "all (category) (partly apart)" in text
    assert "| fast | all | 19 | 5 |" in markdown(run)
    assert "| fast | all (category) (partly apart) | 20 | 5 |" in markdown(run)
    figures = {
        (each["category"], each["is_headline"]): each["interval"]["n"] for each in document(run)["parts"][0]["figures"]
    }
    assert figures == {("all", True): 19, ("all", False): 20}


def test_a_category_is_apart_where_all_of_it_is() -> None:
    text = markdown(stored())
    assert "| fast | odd (partly apart) | 10 | 5 |" in text
    assert "| fast | even | 10 | 5 |" in text
    apart = [replace(case, apart=case.category == "odd") for case in stored().cases]
    assert "| fast | odd (apart) | 10 | 5 |" in markdown(replace(stored(), cases=apart))


VERDICTS = [(0.7, 0.73, "goal"), (0.7, 0.9, "passed"), (0.8, 0.9, "MISSED")]


@pytest.mark.parametrize(("floor", "goal", "verdict"), VERDICTS)
def test_a_headline_is_held_against_floor_and_goal(floor: float, goal: float, verdict: str) -> None:
    run = stored()
    parts = [replace(run.parts[0], floor=floor, goal=goal, p50_limit_ms=12)]
    first = summaries(replace(run, parts=parts))[0]
    assert (first.verdict, first.speed_verdict) == (verdict, "MISSED")


def test_each_arm_has_a_colour_of_its_own() -> None:
    assert len(ARMS) <= SERIES
    style = page(stored())
    assert all(style.count(f"--s{number}: #") == 2 for number in range(SERIES))


def test_charts_hold_odd_values() -> None:
    two = [Point("a", 3.0, 0.0, "w"), Point("b", 900.0, 1.0, "w", 1, is_current=True)]
    drawn = [
        intervals([Bar("one", 1.0, float("nan"), float("nan"), "1.00 [-]")], marks=[], title="<&>"),
        distribution([Times("a", [0.02]), Times("b", [5000.0, 1.0])], limit=None, title="t"),
        scatter(two, limit=30, measure="m", title="t"),
    ]  # fmt: skip
    for chart in drawn:
        ElementTree.fromstring(chart)  # noqa: S314 - our own
        assert "nan" not in chart


LABELS = [
    "questions whose answer is spread over several conversations of different months and people",
    "W" * 300,
    "category",
    "\N{HIRAGANA LETTER A}" * 60,
]


def words_of(chart: str) -> str:
    """All words of a chart's labels, without where they break."""
    found = ElementTree.fromstring(chart).iter("text")  # noqa: S314 - our own
    return "".join(each.text or "" for each in found if "label" in each.get("class", "")).replace(" ", "")


@pytest.mark.parametrize("label", LABELS, ids=("words", "a word", "short", "wide characters"))
def test_no_label_of_a_chart_is_cut_or_leaves_it(label: str) -> None:
    drawn = [
        intervals([Bar(label, 0.5, 0.4, 0.6, "w"), Bar(label, 0.5, 0.4, 0.6, "w")], marks=[], title="t"),
        distribution([Times(label, [1.0]), Times(label, [2.0], 1)], limit=None, title="t"),
        scatter([Point(label, 3.0, 0.5, "w"), Point(label, 4.0, 0.5, "w", 1)], limit=None, measure="m", title="t"),
    ]
    for chart in drawn:
        assert words_of(chart) == label.replace(" ", "") * 2
        drawing = ElementTree.fromstring(chart)  # noqa: S314 - our own
        _, _, right, bottom = map(float, drawing.get("viewBox", "").split())
        texts = [each for each in drawing.iter() if "label" in each.get("class", "")]
        places = [float(each.get("y", "")) for each in texts]
        assert all(later - earlier >= 14 for earlier, later in pairwise(places))
        assert max(places) < bottom
        for each in texts:
            x, wide = float(each.get("x", "")), width(each.text or "", 13)
            assert wide <= (x if each.get("text-anchor") == "end" else right - x)


def test_lines_break_between_words_and_long_words_in_themselves() -> None:
    assert wrapped("one two three", width("one two", 10), 10) == ["one two", "three"]
    assert wrapped("ab " + "W" * 5, width("WW", 10), 10) == ["ab", "WW", "WW", "W"]
    assert wrapped("", 10, 10) == [""]


def asked() -> Stored:
    """One question that one arm found at the second place and the other did not, and one that both found."""
    run = stored()
    found = ("x", "a")
    cases = [
        replace(run.cases[0], id="half", question="Where is it?", values={"recall@10": 0.5}, found=found, missed=()),
        replace(
            run.cases[0], id="half", arm="naive", question="Where is it?", values={"recall@10": 0.0}, missed=("b",)
        ),
        replace(run.cases[0], id="good", question="Who is it?", values={"recall@10": 1.0}),
        replace(run.cases[0], id="good", arm="naive", question="Who is it?", values={"recall@10": 1.0}),
    ]
    return replace(run, cases=cases)


def test_a_question_that_did_badly_has_one_entry_with_what_each_arm_found() -> None:
    text = page(asked())
    entries = re.findall("<details>.*?</details>", text, re.DOTALL)
    assert len(entries) == 1
    (entry,) = entries
    assert entry.count("Where is it?") == 1
    assert entry.count("<dt>Not found</dt><dd>b (not by naive)</dd>") == 1
    assert 'fast <b class="number">.500</b>' in entry
    assert 'naive <b class="number">.000</b>' in entry
    assert "wanted: at 2 of 2." in entry
    assert "wanted: not found." in entry
    rows = [line for line in markdown(asked()).splitlines() if "Where is it?" in line]
    assert len(rows) == 1
    assert "| fast .500, at 2 of 2<br>naive .000, not found | b (not by naive) |" in rows[0]


def test_questions_are_shown_that_any_arm_did_badly_at_the_worst_by_all_first() -> None:
    run = asked()
    cases = [
        replace(run.cases[0], id=f"q{place}-{arm}", arm=other, question=f"{arm} lost", values={"recall@10": value})
        for place in range(30)
        for arm in ("fast", "naive")
        for other, value in ((arm, 0.0), ("naive" if arm == "fast" else "fast", 1.0))
    ]  # fmt: skip
    text = page(replace(run, cases=cases))
    assert (text.count("fast lost"), text.count("naive lost")) == (WORST, WORST)
    both = [replace(case, values={"recall@10": 0.0}) for case in run.cases]
    text = page(replace(run, cases=[*cases, *both]))
    assert 0 < text.index("Where is it?") < text.index("fast lost")


def test_what_was_read_of_a_set_is_said_once_in_every_report() -> None:
    run = stored()
    parts = [
        replace(part, note=f"by {part.arm} means; on a sample; read from talks.json and more.json")
        for part in run.parts
    ]  # fmt: skip
    run = replace(run, parts=parts)
    for text in (page(run), markdown(run), " ".join(in_terminal(run).split())):
        assert text.count("On a sample. Read from talks.json and more.json.") == 1
        assert text.count("fast: by fast means. naive: by naive means.") == 1
