"""Composition root: builds all parts from the settings, closes them in reverse."""

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from auth.accounts import Accounts
from auth.external.addresses import Destinations
from auth.external.attempts import Attempts
from auth.external.codehost import CodeHost
from auth.external.oidc import OidcClient
from auth.external.outbound import load
from auth.passwords import WORKERS, Passwords
from auth.tokens import Tokens
from stores.clock import new_id, utc_now
from stores.embedding import Embedder, EmbeddingSpec, WatchedEmbedder, build_embedder
from stores.embedding.builtin import LateEncoder
from stores.embedding.workers import Workers
from stores.errors import InvalidSetting
from stores.exposures import Exposures
from stores.folder import DataFolder, replace_file, unusable
from stores.indexer import Indexer, IndexerOptions
from stores.ledger import Ledger
from stores.preload import Preload, import_engines, load_model
from stores.processor import processors
from tools.llm.model import LanguageModel, ModelSpec, build_language_model
from tools.runtime.events import EventHub
from tools.runtime.housekeeping import return_memory
from tools.runtime.mail import Mailer
from tools.runtime.settings import Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from tools.runtime.log_ring import LogRing

KEPT_LENGTH = 32
EXPOSURES_FILE = "analytics.duckdb"
REFLECTIONS = 2
BESIDE = 6

Spec = TypeVar("Spec", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Providers:
    codehost: CodeHost | None
    oidc: Mapping[str, OidcClient]
    attempts: Attempts
    destinations: Destinations


@dataclass(frozen=True, slots=True)
class Stores:
    folder: DataFolder
    ledger: Ledger
    indexer: Indexer
    embedder: Embedder | None
    token_encoder: LateEncoder | None
    embedding_workers: Workers
    process_id: str
    """Id of the data folder in claims and jobs; the next process releases them."""


@dataclass(frozen=True, slots=True)
class App(Stores):
    settings: Settings
    exposures: Exposures
    beside: Executor
    accounts: Accounts
    password_turns: anyio.CapacityLimiter
    reflection_turns: anyio.CapacityLimiter
    retrieval_turns: anyio.CapacityLimiter
    language_model: LanguageModel | None
    providers: Providers
    mailer: Mailer
    preload: Preload
    """Loads engines and models once requests are accepted."""
    events: EventHub
    logs: "LogRing"
    clock: Callable[[], datetime]
    started_at: datetime

    @staticmethod
    def new_id(prefix: str) -> str:
        return new_id(prefix)


def questions_at_once() -> int:
    """Return the number of concurrent searches.

    Four on two cores took twice as long per recall as two, and forty times per write.
    """
    return min(max(processors(), 2), 4)


@asynccontextmanager
async def open_app(
    settings: Settings, *, logs: "LogRing", clock: Callable[[], datetime] = utc_now, embedder: Embedder | None = None
) -> AsyncIterator[App]:
    """Open a data folder and everything in it.

    Raises:
        FolderInUse: Another process serves the folder.
        InvalidSetting: A setting does not fit the folder.
    """
    with ExitStack() as stack:
        app = await anyio.to_thread.run_sync(lambda: stack.enter_context(_opened(settings, logs, clock, embedder)))
        loop = asyncio.get_running_loop()

        def ring(organization_id: str, _sequence: int) -> None:
            if not app.events.follows(organization_id):
                return
            with suppress(RuntimeError):  # The loop has ended.
                loop.call_soon_threadsafe(app.events.ring)

        app.ledger.on_commit.append(ring)
        app.ledger.on_commit_elsewhere.append(ring)
        app.ledger.on_job += [app.events.tell_job, lambda notice: ring(notice.organization_id, 0)]
        app.indexer.on_applied.append(ring)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.events.run)
            tasks.start_soon(return_memory)
            try:
                yield app
            finally:
                tasks.cancel_scope.cancel()


@contextmanager
def open_stores(
    settings: Settings, *, clock: Callable[[], datetime] = utc_now, embedder: Embedder | None = None
) -> Iterator[Stores]:
    """Claim the data folder and open its stores.

    Raises:
        FolderInUse: Another process serves the folder.
        InvalidSetting: The folder or ledger cannot be used.
    """
    with ExitStack() as stack:
        folder = DataFolder.claim(settings.data_dir)
        stack.callback(folder.close)
        ledger = Ledger.open(settings.ledger_url, clock=clock)
        stack.callback(ledger.close)
        process_id = _kept(folder.path / "instance", lambda: uuid.uuid4().hex)
        ledger.idempotency.release_dead_claims(process_id)
        workers = Workers(settings.reading_threads)
        spec = _spec(EmbeddingSpec, settings, "embedding")
        if embedder is None and (embedder := build_embedder(spec, workers)) is not None:
            stack.callback(embedder.close)
        watched = WatchedEmbedder(embedder) if embedder is not None else None
        encoder = LateEncoder(workers) if embedder is not None and settings.late_interaction else None
        if encoder is not None:
            stack.callback(encoder.close)
        options = IndexerOptions(
            graph_engine=settings.graph_engine,
            open_limit=settings.open_organizations,
            vector_budget_mb=settings.vector_memory_mb,
            graph_budget_mb=settings.graph_memory_mb,
            passages_at_most=spec.at_once,
        )
        organizations = folder.path / "organizations"
        indexer = Indexer(ledger, organizations, embedder=watched, options=options, clock=clock, late=encoder)
        ledger.on_commit.append(indexer.notify)
        ledger.on_commit_elsewhere.append(indexer.notify_elsewhere)
        ledger.people.on_delete.append(indexer.forget)
        indexer.start()
        stack.callback(indexer.close)
        ledger.listen()
        ledger.jobs.release_holder(process_id)
        yield Stores(folder, ledger, indexer, watched, encoder, workers, process_id)


@contextmanager
def _opened(
    settings: Settings, logs: "LogRing", clock: Callable[[], datetime], embedder: Embedder | None
) -> Iterator[App]:
    with open_stores(settings, clock=clock, embedder=embedder) as stores, ExitStack() as closing:
        tokens = Tokens(
            secret=settings.jwt_secret or _kept(stores.folder.path / "jwt_secret", lambda: secrets.token_hex(32)),
            algorithm=settings.jwt_algorithm,
            access_lifetime=timedelta(minutes=settings.access_token_expire_minutes),
            refresh_lifetime=timedelta(days=settings.refresh_token_expire_days),
            clock=clock,
        )
        beside = ThreadPoolExecutor(BESIDE, "beside-search")
        closing.callback(beside.shutdown)
        accounts = Accounts(stores.ledger, tokens, Passwords(), clock, settings.public_scope)
        mailer = Mailer(settings, clock)
        closing.callback(mailer.close)
        providers = Providers(
            codehost=_spec(CodeHost, settings, "codehost") if settings.codehost_client_id else None,
            oidc={each.name: OidcClient(each, clock) for each in (settings.oidc.resolved() if settings.oidc else ())},
            attempts=Attempts(stores.ledger, clock),
            destinations=Destinations(settings.frontend_url),
        )
        language_model = build_language_model(
            None if settings.llm_provider == "none" else _spec(ModelSpec, settings, "llm")
        )
        loads: list[Callable[[], object]] = [
            Tokens.load,
            partial(load_model, stores.embedder),
            partial(load_model, stores.token_encoder),
            partial(import_engines, settings.graph_engine, stores.embedder),
            *([load] if providers.codehost is not None or providers.oidc else []),
            *([language_model.load] if language_model is not None else []),
        ]
        keep = timedelta(days=settings.exposure_days)
        exposures = Exposures(stores.ledger, stores.folder.path / EXPOSURES_FILE, clock, keep=keep)
        exposures.start()
        closing.callback(exposures.close)
        preload = Preload(loads)
        closing.callback(preload.close)
        # First: pending imports compete with the indexes.
        closing.callback(stores.indexer.stop)
        yield App(
            **{each.name: getattr(stores, each.name) for each in fields(stores)},
            settings=settings,
            exposures=exposures,
            beside=beside,
            accounts=accounts,
            password_turns=anyio.CapacityLimiter(WORKERS),
            reflection_turns=anyio.CapacityLimiter(REFLECTIONS),
            retrieval_turns=anyio.CapacityLimiter(questions_at_once()),
            language_model=language_model,
            providers=providers,
            mailer=mailer,
            preload=preload,
            events=EventHub(stores.ledger.feed, stores.indexer.applied, accounts.renewed),
            logs=logs,
            clock=clock,
            started_at=clock(),
        )


def _spec(kind: type[Spec], settings: Settings, prefix: str) -> Spec:
    names = {each.name: f"{prefix}_{each.name}" for each in fields(kind)}
    return kind(**{name: getattr(settings, ours) for name, ours in names.items() if ours in Settings.model_fields})


def _kept(path: Path, make: Callable[[], str]) -> str:
    try:
        if not path.exists():
            replace_file(path, make().encode())
        kept = path.read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        raise unusable(path, error) from error
    if len(kept) < KEPT_LENGTH or not kept.isalnum():
        raise InvalidSetting(f"{path} is damaged.", remediation="Put it back from a backup, or remove it.")
    return kept
