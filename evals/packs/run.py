"""Loads the records day by day into a throw-away data folder, asks for every goal's pack, and lays the figures out.

It runs inside the application, as no server can be told which day it is, and the records are of many days.
"""

import dataclasses
import hashlib
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from auth.principal import Principal
from evals.options import Options
from evals.packs.labels import Goal, Kept, Person, read_goals, read_records
from evals.packs.scoring import Packed, PackScore, score_packs
from evals.prepared import Prepared
from evals.results import CHARACTERS_PER_TOKEN, Case, Outcome, Part
from evals.runs import Journal
from evals.timing import Spread, spread
from stores.errors import EngrainError
from stores.records import JsonObject
from tools.app import App, open_app
from tools.context import context
from tools.context_models import ContextRequest, EvidenceRequest
from tools.entity_models import EntityFields
from tools.logs import LogRing
from tools.operation import Call
from tools.retrieval.plan import Mode
from tools.settings import Settings
from tools.storing import store

TODAY = datetime(2026, 6, 15, 9, tzinfo=UTC)
"""The day on which the goals are set: the same records give the same packs on every run."""
_BEGINNING_DAYS = 500
_PASSWORD = "throw-away-account"  # noqa: S105 - it guards a folder that is deleted within minutes
_LOADING_LIMIT_S = 300.0
MODES: tuple[Mode, ...] = ("fast", "naive")


@dataclass(slots=True)
class Calendar:
    """A clock that shows what it is set to."""

    now: datetime

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


@dataclass(frozen=True, slots=True)
class World:
    """The records where they can be asked for."""

    app: App
    people: Mapping[Person, Principal]
    ids: Mapping[str, str]
    """By key, those of the projects by their names."""


def prepare(options: Options) -> Prepared:
    """Read the records and the goals. Measuring takes about a minute, and begins anew after an interruption."""
    goals, records = read_goals(), read_records()
    sha = hashlib.sha256(repr([(goal.id, goal.goal, sorted(goal.must)) for goal in goals] + list(records)).encode())
    return Prepared({"name": options.name}, {}, {"packs": sha.hexdigest()}, _measure)


def _measure(_: Journal) -> Outcome:
    packs = anyio.run(measure_packs)
    texts = {record.key: record.name for record in read_records()}
    cases = [_case(pack, mode, texts) for mode, found in packs.items() for pack in found]
    parts = [Part("packs", mode, "record", len(texts), "recall") for mode in packs]
    return Outcome(cases, parts, markdown(packs), {mode: _plain(found) for mode, found in packs.items()})


def _case(pack: Packed, mode: Mode, texts: Mapping[str, str]) -> Case:
    return Case(
        set="packs",
        arm=mode,
        unit="record",
        id=pack.goal.id,
        values={
            "recall": pack.recall,
            "nothing wrong": float(not pack.wrong),
            "nothing off topic": float(not pack.off_topic),
        },
        category=pack.goal.split,
        question=pack.goal.goal,
        wanted=dict.fromkeys(sorted(pack.goal.must), 1),
        found=pack.keys,
        took_ms=pack.took_ms,
        tokens=pack.characters // CHARACTERS_PER_TOKEN,
        best=[texts.get(key, key) for key in pack.keys[:3]],
        missed=[texts.get(key, key) for key in pack.missed],
    )


async def measure_packs() -> dict[Mode, list[Packed]]:
    """Return the packs of all goals, as they are and by ranks alone."""
    goals = read_goals()
    with tempfile.TemporaryDirectory(prefix="engrain-eval-") as folder:
        calendar = Calendar(TODAY - timedelta(days=_BEGINNING_DAYS))
        settings = Settings(data_dir=Path(folder), log_level="error")
        async with open_app(settings, logs=LogRing(), clock=calendar) as app:
            world = await _load(app, calendar, read_records())
            await _packed(world, goals[0], "fast")
            return {mode: [await _packed(world, goal, mode) for goal in goals] for mode in MODES}


async def _load(app: App, calendar: Calendar, records: Sequence[Kept]) -> World:
    ada = await anyio.to_thread.run_sync(app.accounts.sign_up, "ada@localhost.test", _PASSWORD, "Ada")
    organization = ada.identity.organization.id
    first = await anyio.to_thread.run_sync(app.accounts.authenticate, ada.access_token)
    names = sorted({record.project for record in records if record.project is not None})
    projects = [EntityFields(name=name.capitalize(), entity_type="project") for name in names]
    made = await store(app, Call(first), projects, sync=True, deferred=False)
    ids = {name: entity.id for name, entity in zip(names, made.entities, strict=True)}
    people = await anyio.to_thread.run_sync(_people, app, ada.access_token, organization)
    for record in records:
        calendar.now = TODAY - timedelta(days=record.days_ago)
        made = await store(app, Call(people[record.author]), [_fields(record, ids)], sync=False, deferred=False)
        ids[record.key] = made.entities[0].id
    calendar.now = TODAY
    await _until_whole(app, organization)
    return World(app, people, ids)


def _people(app: App, token: str, organization_id: str) -> dict[Person, Principal]:
    """Sign everybody in, now that the projects are there to be seen."""
    bob = app.accounts.create("bob@localhost.test", _PASSWORD, "Bob")
    app.ledger.add_membership(bob.id, organization_id, "member")
    signed = app.accounts.start(bob, organization_id=organization_id)
    return {"ada": app.accounts.authenticate(token), "bob": app.accounts.authenticate(signed.access_token)}


def _fields(record: Kept, ids: Mapping[str, str]) -> EntityFields:
    metadata: JsonObject = {
        "project_id": ids[record.project] if record.project is not None else None,
        "status": record.status,
        "priority": record.priority,
        "memory_scope": record.scope,
    }
    links = (link.partition(":") for link in record.related)
    return EntityFields(
        name=record.name,
        content=record.content,
        entity_type=record.type,
        metadata={key: value for key, value in metadata.items() if value is not None},
        related_to=[f"{name}:{ids[key]}" for name, _, key in links],
    )


async def _until_whole(app: App, organization_id: str) -> None:
    head, ids = app.ledger.head(organization_id).sequence, list(app.ledger.revisions(organization_id))
    deadline = time.monotonic() + _LOADING_LIMIT_S
    while pending := await app.indexer.applied_within(organization_id, head, ids, 20.0):
        if time.monotonic() > deadline:
            raise EngrainError(f"The indexes {', '.join(sorted(pending))} do not catch up.")


async def _packed(world: World, goal: Goal, mode: Mode) -> Packed:
    request = ContextRequest(
        goal=goal.goal,
        intent=goal.intent,
        layer=goal.layer,
        limit=50,
        project=world.ids[goal.project] if goal.project is not None else None,
        record_exposure=False,
        evidence=EvidenceRequest(retrieval_mode=mode, limit=1) if mode == "naive" else None,
    )
    if goal.layer == "recall":
        request = request.model_copy(update={"limit": 24})
    start = time.perf_counter()
    pack = await context(world.app, Call(world.people[goal.asker]), request)
    took_ms = (time.perf_counter() - start) * 1000
    keys = {record_id: key for key, record_id in world.ids.items()}
    found = tuple(keys[item.id] for section in pack.sections for item in section.items)
    return Packed(goal, found, len(pack.markdown), took_ms)


def _plain(packs: Sequence[Packed]) -> dict[str, object]:
    return {
        "scores": {name: dataclasses.asdict(score) for name, score in _scores(packs).items()},
        "goals": [
            {
                "id": pack.goal.id, "keys": pack.keys, "missed": pack.missed, "wrong": pack.wrong,
                "off_topic": pack.off_topic, "characters": pack.characters,
            }
            for pack in packs
        ],
    }  # fmt: skip


def _scores(packs: Sequence[Packed]) -> dict[str, PackScore]:
    """All of them, then by split, by layer and by intent."""
    groups: dict[str, list[Packed]] = {"all": list(packs)}
    for name in ("split", "layer", "intent"):
        for pack in packs:
            groups.setdefault(f"{name} {getattr(pack.goal, name)}", []).append(pack)
    return {name: score_packs(group) for name, group in groups.items()}


def markdown(packs: Mapping[Mode, Sequence[Packed]]) -> str:
    """Lay the figures out: the packs as they are, group by group, and those by ranks alone; then what was missed."""
    lines = [
        "| packs | n | recall of what must be in | must be in | with what must not be in | with what is off topic"
        " | items | characters, mean | longest |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(name, score) for name, score in _scores(packs["fast"]).items()),
        *(
            _row(f"naive, {name}", score)
            for name, score in _scores(packs["naive"]).items()
            if name == "all" or name.startswith("split")
        ),
        "",
        _times(spread([pack.took_ms for pack in packs["fast"]])),
        "",
        *_faults(packs["fast"]),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, score: PackScore) -> str:
    recall = score.recall
    cells = (
        name,
        score.goals,
        f"{recall.mean:.3f} [{recall.low:.3f}, {recall.high:.3f}]",
        f"{score.must_found} of {score.must}",
        f"{score.with_wrong} of {score.goals}",
        f"{score.with_off_topic} of {score.goals} ({score.off_topic_found} of {score.off_topic} records)",
        score.items,
        f"{score.characters:.0f}",
        score.longest,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _times(took_ms: Spread) -> str:
    return f"A pack takes {took_ms.p50:.0f} ms (p50), {took_ms.p95:.0f} ms (p95) over so few records, n = {took_ms.n}."


def _faults(packs: Iterable[Packed]) -> list[str]:
    return [
        f"- {pack.goal.id} ({pack.goal.split}): "
        + "; ".join(
            f"{word} {', '.join(keys)}"
            for word, keys in (("missed", pack.missed), ("wrong", pack.wrong), ("off topic", pack.off_topic))
            if keys
        )
        for pack in packs
        if pack.missed or pack.wrong or pack.off_topic
    ]
