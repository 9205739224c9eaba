"""The acts of the demo, in order."""

import asyncio
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from cli.demo import knowledge, printing
from cli.demo.clients import AgentClient, Answer, DemoFailed, RestClient, RunningServer, running_server
from cli.demo.corpus import (
    AGENT_QUESTION,
    KNOWLEDGE,
    OFF_TOPIC,
    REPOSITORY,
    Corpus,
    Question,
    folder_corpus,
    own_corpus,
    questions_from,
)
from cli.signals import run_interruptible
from evals.stopping import stoppable

BATCH_DOCUMENTS = 64
BATCH_CHARACTERS = 1_000_000
INDEX_LIMIT_S = 120.0
INDEX_POLL_S = 0.1
AGAIN = "engrain demo --folder path"
LOW_SCORE = 0.3


@dataclass(slots=True)
class Visit:
    """State passed from act to act."""

    server: RunningServer
    rest: RestClient
    corpora: list[Corpus]
    questions: list[Question]
    from_checkout: bool
    token: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    """Record ids by record name."""
    rest_ms: list[float] = field(default_factory=list)
    agent_ms: list[float] = field(default_factory=list)


def run_demo(environ: Mapping[str, str], *, folder: Path | None) -> int:
    """Run the demo; return 1 if something was not answered."""
    try:
        with stoppable(), tempfile.TemporaryDirectory(prefix="engrain-demo-") as temporary:
            _play(Path(temporary), environ, folder)
    except DemoFailed as failure:
        typer.echo(f"\nThe demo failed: {failure}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("\nStopped; the server and its temporary folder are gone.", err=True)
        return 1
    return 0


def _play(temporary: Path, environ: Mapping[str, str], folder: Path | None) -> None:
    own, from_checkout = own_corpus()
    corpora = [own] if folder is None else [own, folder_corpus(folder)]
    printing.title("1. Start")
    with running_server(temporary, environ) as server:
        printing.line(
            f"engrain serve is ready at {server.address} after {server.start_s:.1f} s (process {server.pid})."
        )
        printing.line(f"Everything it stores is in {temporary}, and is removed at the end.")
        try:
            run_interruptible(lambda: _visit(server, corpora, from_checkout))
        except BaseExceptionGroup as group:
            raise _first_failure(group) from None
    printing.title("The server is stopped and its folder removed.")


def _first_failure(group: BaseExceptionGroup) -> BaseException:
    failures = group.subgroup(DemoFailed)
    first: BaseException = failures if failures is not None else group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


async def _visit(server: RunningServer, corpora: list[Corpus], from_checkout: bool) -> None:
    async with RestClient.connected(server.address) as rest:
        questions = [*KNOWLEDGE, *([REPOSITORY] if from_checkout else questions_from(corpora[0], most=1))]
        for given in corpora[1:]:
            questions += questions_from(given)
        visit = Visit(server, rest, corpora, [*questions, OFF_TOPIC], from_checkout)
        await _sign_up(visit)
        await _ingest(visit)
        async with AgentClient.connected(server.address, visit.token) as agent:
            await _teach(visit, agent)
            await _until_indexed(visit)
            await _ask_over_rest(visit)
            await _ask_over_mcp(visit, agent)
    _say_what_next(visit)


async def _sign_up(visit: Visit) -> None:
    account = {"email": "ada@example.com", "password": secrets.token_urlsafe(16), "name": "Ada"}
    signed = await visit.rest.post("/api/auth/local/signup", account)
    visit.token = signed.body["access_token"]
    visit.rest.sign_in(visit.token)
    me = await visit.rest.get("/api/auth/me")
    where = me.body["organization"]["name"]
    printing.line(f"{me.body['user']['name']} signed up over REST and is {me.body['org_role']} of {where!r}.")


async def _ingest(visit: Visit) -> None:
    printing.title("2. Read documents (POST /api/ingestion/documents)")
    if not visit.from_checkout:
        printing.line("Engrain was installed without a source checkout, so the built-in handbook is read instead.")
    for corpus in visit.corpora:
        start = time.perf_counter()
        chunk_count = 0
        source: dict[str, Any] = {"source_name": corpus.name, "source_url": corpus.url}
        for batch in batches(corpus):
            stored = await visit.rest.post("/api/ingestion/documents", {**source, "documents": batch})
            source = {"source_id": stored.body["source_id"]}
            chunk_count += stored.body["chunk_count"]
        took = time.perf_counter() - start
        printing.line(
            f"{corpus.name}: {len(corpus.texts)} documents, {corpus.characters:,} characters → {chunk_count} chunks,"
            f" durable after {took:.2f} s."
        )
        if corpus.skipped:
            printing.line(f"Not read: {corpus.skipped} files that are no text, empty, or too large.")


def batches(corpus: Corpus) -> Iterator[list[dict[str, str]]]:
    """Divide a corpus into bounded requests."""
    batch: list[dict[str, str]] = []
    size = 0
    for text in corpus.texts:
        if batch and (len(batch) == BATCH_DOCUMENTS or size + len(text.content) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append({"url": text.path, "content": text.content})
        size += len(text.content)
    if batch:
        yield batch


async def _teach(visit: Visit, agent: AgentClient) -> None:
    printing.title("3. Remember what the team knows (POST /api/entities/bulk, and the MCP tool `add`)")
    stored = await visit.rest.post(
        # Not deferred: these go ahead of the documents, which are still being embedded.
        "/api/entities/bulk?sync=true",
        {"entities": list(knowledge.RECORDS), "defer_embeddings": False},
    )
    visit.ids = {entity["name"]: entity["id"] for entity in stored.body["entities"]}
    kinds = ", ".join(entity["entity_type"] for entity in stored.body["entities"])
    printing.line(f"REST: {stored.body['total']} records ({kinds}), in every index after {stored.ms:.0f} ms.")
    tools = await agent.tools()
    printing.line(f"MCP: the agent sees {len(tools)} tools, {', '.join(tools[:4])} among them.")
    old = await agent.call("add", knowledge.OLD_DECISION)
    links = [f"supersedes:{old.body['id']}", f"references:{visit.ids[knowledge.LOCKED]}"]
    new = await agent.call("add", {**knowledge.NEW_DECISION, "related_to": links})
    decisions = (knowledge.OLD_DECISION["title"], knowledge.NEW_DECISION["title"])
    visit.ids |= {title: str(answer.body["id"]) for title, answer in zip(decisions, (old, new), strict=True)}
    visit.agent_ms += [old.ms, new.ms]
    for answer, note in ((old, ""), (new, ", which retires the first")):
        printing.line(f"MCP: {answer.body['message']} ({answer.ms:.0f} ms){note}.")


async def _until_indexed(visit: Visit) -> None:
    start = time.perf_counter()
    most = 0
    while time.perf_counter() - start < INDEX_LIMIT_S:
        report = await visit.rest.get("/api/health/ready")
        pending = {index["name"]: index["pending"] for index in report.body["indexes"]}
        most = max(most, *pending.values())
        if not any(pending.values()):
            took = time.perf_counter() - start
            waited = f"; the last {most} changes took {took:.1f} s" if most else " by now"
            printing.line(f"Every index shows everything{waited}.")
            return
        await asyncio.sleep(INDEX_POLL_S)
    left = ", ".join(f"{name} {count}" for name, count in pending.items() if count)
    printing.line(f"Indexing goes on in the background ({left} changes left); what is done can be searched now.")


async def _ask_over_rest(visit: Visit) -> None:
    printing.title("4. Ask over REST (POST /api/search)")
    retired = visit.ids[knowledge.OLD_DECISION["title"]]
    for question in visit.questions:
        body = {"query": question.text, "limit": 5, "include_retrieval_diagnostics": True}
        answer = await visit.rest.post("/api/search", body)
        visit.rest_ms.append(answer.ms)
        printing.answered(question, answer.body, answer.ms)
        _require_sense(question, answer.body, retired)


def _require_sense(question: Question, response: Mapping[str, Any], retired: str) -> None:
    results = response["results"]
    best = max((hit["score"] for hit in results), default=0.0)
    if question.answered and not results:
        raise DemoFailed(f"nothing was found for {question.text!r}.")
    if not question.answered and best >= LOW_SCORE:
        raise DemoFailed(f"{question.text!r} has no answer here, and yet a hit scored {best:.2f}.")
    if any(hit["id"] == retired for hit in results):
        raise DemoFailed(f"a retired decision was found for {question.text!r}.")
    if not question.answered:
        printing.line(f"The best score is {best:.2f}: nothing here is about it.", indent=5)


async def _ask_over_mcp(visit: Visit, agent: AgentClient) -> None:
    printing.title("5. Ask over MCP (this is the text that an agent's model reads)")
    question = AGENT_QUESTION if visit.from_checkout else visit.questions[-2].text
    arguments: dict[str, Any] = {"query": question, "limit": 2, "content_max_chars": 120}
    found = await _tell(visit, agent, "search", arguments)
    if not any(hit["type"] == "document" for hit in found.body["results"]):
        raise DemoFailed(f"no document was found over MCP for {question!r}.")
    decision = visit.ids[knowledge.NEW_DECISION["title"]]
    await _tell(visit, agent, "expand_neighbors", {"entity_ids": [decision], "content_max_chars": 120})


async def _tell(visit: Visit, agent: AgentClient, tool: str, arguments: dict[str, Any]) -> Answer:
    answer = await agent.call(tool, arguments)
    visit.agent_ms.append(answer.ms)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    typer.echo(typer.style(f"  {tool}({given})", bold=True) + f"  {answer.ms:.0f} ms")
    printing.verbatim(answer.text)
    return answer


def _say_what_next(visit: Visit) -> None:
    rest, agent = statistics.median(visit.rest_ms), statistics.median(visit.agent_ms)
    printing.title(
        f"One process did all of it, without a network: median {rest:.0f} ms over REST, {agent:.0f} over MCP."
    )
    printing.line("What to do next:")
    serve, again = ("make serve", "make demo FOLDER=path") if visit.from_checkout else ("engrain serve", AGAIN)
    for command, gives in (
        (serve, "a server that keeps what you tell it, at http://127.0.0.1:8420"),
        ("open http://127.0.0.1:8420/api/docs", "every route"),
        ("read docs/guide/agents.md", "connect Claude Code, Cursor, Codex or any other MCP client"),
        (again, "the same with your own text"),
    ):
        typer.echo(f"    {command:<38}{gives}")
