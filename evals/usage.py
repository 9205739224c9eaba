"""`engrain eval usage`: what citing what answered some questions does to others, and what reads pay for all of it."""

import dataclasses
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import numpy as np

from auth.principal import Principal
from evals.datasets import Collection, Question
from evals.evaluate import NOTHING_TO_MEASURE, Options, folders, read
from evals.metrics import METRICS, Interval, bootstrap
from evals.metrics.interval import RESAMPLES, SEED
from evals.quality import Answered, Haystack, ask, load
from evals.report import deliver
from evals.timing import Spread, spread
from stores.errors import EngrainError
from tools.app import App, open_app
from tools.citations import cited
from tools.logs import LogRing
from tools.operation import Call
from tools.search import SearchRequest, search
from tools.settings import Settings
from tools.threads import in_thread

CROWD = 8
"""Users who cite in the strongest case, each in a session of its own per question."""
AGENT_READS = 10
"""Hits that whoever cites has read."""
TIMED = 200
"""Questions at most for which times are compared."""
ROUNDS = 5
_PASSWORD = "throw-away-account"  # noqa: S105 - it guards a folder that is deleted within minutes


@dataclass(frozen=True, slots=True)
class Effect:
    """What the signal did to one half of the questions."""

    half: str
    citing_users: int
    questions: int
    differences: Mapping[str, Interval]
    """By metric: with the signal less without it, paired by question."""
    without: Mapping[str, float]
    better: int
    worse: int
    reordered: int
    """Questions whose ten best hits are others, or in another order."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a search pays for the signal and for being recorded, in milliseconds."""

    plain: Spread
    whole: Spread
    difference: Interval
    """The median of the differences, paired by question and round."""
    recording: Spread
    """The part in which the answer is queued, as the search itself measures it."""


@dataclass(frozen=True, slots=True)
class UsageResult:
    """One collection."""

    name: str
    texts: int
    cited: int
    """Distinct texts that were cited."""
    effects: Sequence[Effect]
    cost: Cost


def run_usage_eval(options: Options, say: Callable[[str], None]) -> int:
    """Measure each collection and report. Returns the exit code: 0, or 2 with a sentence when there is no data."""
    try:
        results = []
        for name, folder in folders(options).items():
            say(f"{name}: loading, asking, citing and asking again …")
            results.append(anyio.run(measure_usage, read(name, folder, options.limit)))
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    document = {"limit": options.limit, "collections": [dataclasses.asdict(result) for result in results]}
    deliver(markdown(results), document, say=say, json_file=options.json_file, markdown_file=options.markdown_file)
    return 0


async def measure_usage(collection: Collection) -> UsageResult:
    """Cite what answers one half of the questions, first as one user, then as a crowd; ask both halves each time."""
    with tempfile.TemporaryDirectory(prefix="engrain-eval-") as folder:
        settings = Settings(data_dir=Path(folder), log_level="error")
        async with open_app(settings, logs=LogRing()) as app:
            haystacks = await load(app, collection.texts)
            halves = split(collection.questions)
            off = dataclasses.replace(app, settings=settings.model_copy(update={"usage_signal": False}))
            before = {half: await ask(off, haystacks, questions) for half, questions in halves.items()}
            crowds = {name: await _crowd(app, haystack) for name, haystack in haystacks.items()}
            effects, texts = [], set[tuple[str, str]]()
            for size, members in ((1, slice(0, 1)), (CROWD, slice(1, CROWD))):
                texts |= await _cite(app, haystacks, before["cited"], {n: c[members] for n, c in crowds.items()})
                for half, questions in halves.items():
                    effects.append(_effect(half, size, before[half], await ask(app, haystacks, questions)))
            cost = await _compare_times(off, app, haystacks, collection.questions)
    return UsageResult(collection.name, len(collection.texts), len(texts), effects, cost)


def split(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Draw half of the questions, whose answers get cited; the others are held out."""
    drawn = list(questions)
    random.Random(0).shuffle(drawn)  # noqa: S311 - a draw that anyone can repeat
    middle = len(drawn) // 2
    return {"cited": drawn[:middle], "held out": drawn[middle:]}


async def _crowd(app: App, haystack: Haystack) -> list[Principal]:
    """Who loaded the texts, and further members of that organization."""
    organization_id = haystack.caller.organization_id

    def join(number: int) -> Principal:
        signed = app.accounts.sign_up(f"{organization_id}-{number}@localhost.test", _PASSWORD, "Eval")
        user, session = signed.identity.user, signed.identity.session
        app.ledger.add_membership(user.id, organization_id, "member")
        switched = app.accounts.switch(session.id if session else "", organization_id)
        return app.accounts.authenticate(switched.access_token)

    return [haystack.caller, *[await in_thread(join, number) for number in range(1, CROWD)]]


async def _cite(
    app: App, haystacks: Mapping[str, Haystack], answers: Sequence[Answered], crowds: Mapping[str, Sequence[Principal]]
) -> set[tuple[str, str]]:
    """Let everybody in the crowds cite what each answer found and is relevant; return which texts that were."""
    texts = set()
    for answer in answers:
        haystack = haystacks[answer.question.haystack]
        useful = [text for text in answer.ranking[:AGENT_READS] if answer.question.grades.get(text)]
        entities = {text: entity for entity, text in haystack.texts.items()}
        if not useful:
            continue
        texts |= {(answer.question.haystack, text) for text in useful}
        for caller in crowds[answer.question.haystack]:
            act = partial(cited, surface="search", session_key=answer.question.id)
            await in_thread(act, app, Call(caller), [entities[text] for text in useful])
    return texts


def _effect(half: str, citing_users: int, before: Sequence[Answered], after: Sequence[Answered]) -> Effect:
    pairs = list(zip(before, after, strict=True))
    groups = [old.question.group or old.question.id for old, _ in pairs]
    figures = {
        name: [
            (metric(old.ranking, old.question.grades), metric(new.ranking, new.question.grades)) for old, new in pairs
        ]
        for name, metric in METRICS.items()
    }
    first = next(iter(figures.values()))
    return Effect(
        half=half,
        citing_users=citing_users,
        questions=len(pairs),
        differences={name: bootstrap([b - a for a, b in both], groups) for name, both in figures.items()},
        without={name: sum(a for a, _ in both) / max(1, len(both)) for name, both in figures.items()},
        better=sum(b > a for a, b in first),
        worse=sum(b < a for a, b in first),
        reordered=sum(old.ranking != new.ranking for old, new in pairs),
    )


async def _compare_times(off: App, app: App, haystacks: Mapping[str, Haystack], questions: Sequence[Question]) -> Cost:
    """Ask with and without, one after the other in an order that is drawn each time: both meet the same load."""
    draw = random.Random(1)  # noqa: S311 - as above
    asked = draw.sample(questions, min(TIMED, len(questions)))
    times: dict[bool, list[float]] = {False: [], True: []}
    recording: list[float] = []
    for _ in range(ROUNDS):
        for question in asked:
            for recorded in draw.sample((False, True), 2):
                request = SearchRequest(query=question.text, include_raw_memory=False, record_exposure=recorded)
                start = time.perf_counter()
                page = await search(app if recorded else off, Call(haystacks[question.haystack].caller), request)
                times[recorded].append((time.perf_counter() - start) * 1000)
                if recorded:
                    recording.append(page.filters["stage_timings_ms"]["exposure"])
    differences = [whole - plain for plain, whole in zip(times[False], times[True], strict=True)]
    return Cost(spread(times[False]), spread(times[True]), median(differences), spread(recording))


def median(values: Sequence[float]) -> Interval:
    """The median and its 95 % percentile interval: a mean is carried away by whatever else the machine does."""
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(np.median(np.asarray(values)[drawn], axis=1), (2.5, 97.5))
    return Interval(float(np.median(values)), float(low), float(high), len(values))


def markdown(results: Sequence[UsageResult]) -> str:
    """Lay results out as two tables; intervals are 95 %, bootstrapped over questions or groups of them."""
    names = list(METRICS)
    lines = [
        f"| data set | texts (cited) | questions | n | cited by | {' | '.join(names)} | better / worse / reordered |",
        "|---|---|---|---|---|" + "---|" * (len(names) + 1),
    ]
    for result in results:
        for effect in result.effects:
            cells = (
                f"{effect.without[name]:.3f} {each.mean:+.4f} [{each.low:+.4f}, {each.high:+.4f}]"
                for name, each in effect.differences.items()
            )
            lines.append(
                f"| {result.name} | {result.texts} ({result.cited}) | {effect.half} | {effect.questions} |"
                f" {effect.citing_users} | {' | '.join(cells)} |"
                f" {effect.better} / {effect.worse} / {effect.reordered} |"
            )
    lines += ["", "| data set | searches | plain ms p50 / p95 | recorded, with signal | difference | recording |"]
    lines.append("|---|---|---|---|---|---|")
    for result in results:
        cost = result.cost
        lines.append(
            f"| {result.name} | {cost.plain.n} | {cost.plain.p50:.2f} / {cost.plain.p95:.2f} |"
            f" {cost.whole.p50:.2f} / {cost.whole.p95:.2f} |"
            f" {cost.difference.mean:+.3f} [{cost.difference.low:+.3f}, {cost.difference.high:+.3f}] |"
            f" {cost.recording.p50:.3f} / {cost.recording.p95:.3f} |"
        )
    return "\n".join(lines) + "\n"
