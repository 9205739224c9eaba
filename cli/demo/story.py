"""The acts of the demo, in order."""

import statistics
import tempfile
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from cli.demo import knowledge
from cli.demo.corpus import Corpus, checkout, folder_corpus, own_corpus
from evals.client import Client
from evals.harness.server import served, stoppable
from stores.errors import EngrainError

BATCH = 16
"""Documents of a request."""
LOW_SCORE = 0.3
WIDTH = 100
LANES = {"lexical": "words", "vector": "meaning", "graph": "relations"}


def run_demo(folder: Path | None) -> int:
    """Run the demo; return 1 if something was not answered."""
    try:
        with stoppable(), tempfile.TemporaryDirectory(prefix="engrain-demo-") as temporary:
            _play(Path(temporary), folder)
    except EngrainError as failure:
        typer.echo(f"\nThe demo failed: {failure.message}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("\nStopped; the server and its temporary folder are gone.", err=True)
        return 1
    return 0


def _play(temporary: Path, folder: Path | None) -> None:
    corpora = [own_corpus(), *([] if folder is None else [folder_corpus(folder)])]
    _title("1. Start")
    start = time.monotonic()
    with served(temporary, {}) as server:
        took = time.monotonic() - start
        _line(f"engrain serve is ready at {server.address} after {took:.1f} s (process {server.process.pid}).")
        _line(f"Everything it stores is in {temporary}, and is removed at the end.")
        with Client(server.address) as anybody, anybody.signed_up("Ada") as ada:
            me = ada.get("/api/auth/me")
            where = me["organization"]["name"]
            _line(f"{me['user']['name']} signed up over REST and is {me['org_role']} of {where!r}.")
            _ingest(ada, corpora)
            old, new = _teach(ada)
            _wait(ada)
            rest_ms = _ask_over_rest(ada, corpora, retired=old)
            agent_ms = _ask_over_mcp(ada, corpora, decision=new)
    rest, agent = statistics.median(rest_ms), statistics.median(agent_ms)
    _title(f"One process did all of it, without a network: median {rest:.0f} ms over REST, {agent:.0f} over MCP.")
    _line("The server is stopped and its folder removed. What to do next:")
    names = ("make serve", "make demo FOLDER=path") if checkout() else ("engrain serve", "engrain demo --folder path")
    for command, gives in (
        (names[0], "a server that keeps what you tell it, at http://127.0.0.1:8420"),
        ("open http://127.0.0.1:8420/api/docs", "every route"),
        ("read docs/guide/agents.md", "connect Claude Code, Cursor, Codex or any other MCP client"),
        (names[1], "the same with your own text"),
    ):
        typer.echo(f"    {command:<38}{gives}")


def _ingest(client: Client, corpora: list[Corpus]) -> None:
    _title("2. Read documents (POST /api/ingestion/documents)")
    for corpus in corpora:
        start, chunks = time.perf_counter(), 0
        source: dict[str, Any] = {"source_name": corpus.name, "source_url": corpus.url}
        for first in range(0, len(corpus.texts), BATCH):
            documents = [{"url": each.path, "content": each.content} for each in corpus.texts[first : first + BATCH]]
            stored = client.post("/api/ingestion/documents", {**source, "documents": documents})
            source, chunks = {"source_id": stored["source_id"]}, chunks + stored["chunk_count"]
        took, characters = time.perf_counter() - start, sum(len(text.content) for text in corpus.texts)
        _line(
            f"{corpus.name}: {len(corpus.texts)} documents, {characters:,} characters → {chunks} chunks, durable after"
            f" {took:.2f} s."
        )
        if corpus.skipped:
            _line(f"Not read: {corpus.skipped} files that are no text, empty, or too large.")


def _teach(client: Client) -> tuple[str, str]:
    _title("3. Remember what the team knows (POST /api/entities/bulk, and the MCP tool `add`)")
    # Not deferred: these go ahead of the documents, which are still being embedded.
    wanted = {"entities": list(knowledge.RECORDS), "defer_embeddings": False}
    stored = client.post("/api/entities/bulk?sync=true", wanted)
    kinds = ", ".join(entity["entity_type"] for entity in stored["entities"])
    _line(f"REST: {stored['total']} records ({kinds}), in every index after {client.took_ms:.0f} ms.")
    old = client.tool("add", knowledge.OLD_DECISION)
    _line(f"MCP: {old['message']} ({client.took_ms:.0f} ms).")
    links = [f"supersedes:{old['id']}", f"references:{stored['entities'][knowledge.LOCKED]['id']}"]
    new = client.tool("add", {**knowledge.NEW_DECISION, "related_to": links})
    _line(f"MCP: {new['message']} ({client.took_ms:.0f} ms), which retires the first.")
    return str(old["id"]), str(new["id"])


def _wait(client: Client) -> None:
    start, waiting = time.perf_counter(), client.pending()
    client.until_indexed()
    took = time.perf_counter() - start
    _line(f"Every index shows everything; the last {waiting} changes took {took:.1f} s.")


def _ask_over_rest(client: Client, corpora: list[Corpus], *, retired: str) -> list[float]:
    _title("4. Ask over REST (POST /api/search)")
    first = knowledge.REPOSITORY if checkout() else corpora[0].question
    times = []
    for question in (*knowledge.QUESTIONS, first, *(corpus.question for corpus in corpora[1:]), knowledge.OFF_TOPIC):
        body = {"query": question, "limit": 5, "include_retrieval_diagnostics": True}
        answer = client.post("/api/search", body)
        times.append(client.took_ms)
        _answered(question, answer, client.took_ms)
        best = max((hit["score"] for hit in answer["results"]), default=0.0)
        if any(hit["id"] == retired for hit in answer["results"]):
            raise EngrainError(f"a retired decision was found for {question!r}.")
        if question != knowledge.OFF_TOPIC:
            if not answer["results"]:
                raise EngrainError(f"nothing was found for {question!r}.")
        elif best >= LOW_SCORE:
            raise EngrainError(f"{question!r} has no answer here, and yet a hit scored {best:.2f}.")
        else:
            _line(f"The best score is {best:.2f}: nothing here is about it.", indent=5)
    return times


def _ask_over_mcp(client: Client, corpora: list[Corpus], *, decision: str) -> list[float]:
    _title("5. Ask over MCP (this is the text that an agent's model reads)")
    question = knowledge.AGENT_QUESTION if checkout() else corpora[0].question
    times = []
    for tool, arguments in (
        ("search", {"query": question, "limit": 2, "content_max_chars": 120}),
        ("expand_neighbors", {"entity_ids": [decision], "content_max_chars": 120}),
    ):
        answer = client.tool(tool, arguments)
        times.append(client.took_ms)
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        typer.echo(typer.style(f"  {tool}({given})", bold=True) + f"  {client.took_ms:.0f} ms")
        for shown in client.said.splitlines()[:5]:
            typer.echo(_cut(f"    | {shown}"))
        if tool == "search" and not any(hit["type"] == "document" for hit in answer["results"]):
            raise EngrainError(f"no document was found over MCP for {question!r}.")
    return times


def _answered(question: str, response: Mapping[str, Any], ms: float) -> None:
    typer.echo(typer.style(f"  Q  {question}", bold=True) + f"  ({ms:.0f} ms)")
    details = response["filters"].get("graph_retrieval", {}).get("source_details", {})
    for hit in response["results"][:2]:
        ranks = details.get(hit["id"], {}).get("ranks", {})
        found = ", ".join(f"{name} #{ranks[lane]}" for lane, name in LANES.items() if lane in ranks)
        named = f"{hit['type']}: {hit['url'] if hit['result_origin'] == 'document' else hit['name']}"
        typer.echo(_cut(f"     {hit['score']:.2f}  {named}, by {found}"))
        typer.echo(_cut(f'           "{" ".join(str(hit["content"]).split())}"'))


def _title(text: str) -> None:
    typer.echo("\n" + typer.style(text, bold=True))


def _line(text: str, indent: int = 2) -> None:
    typer.echo(textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"
