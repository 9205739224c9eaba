"""`engrain demo`: a server on a temporary folder reads real text and answers questions about it."""

import re
import statistics
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from cli.crawling import batches, files_of
from evals.client import Client
from evals.harness.server import served, stoppable
from stores.errors import EngrainError

SUFFIXES = frozenset({".md", ".markdown", ".rst", ".txt"})
BYTES_LIMIT = 2_000_000
"""About five minutes of indexing on two slow cores."""
_HEADING = re.compile(r"^#{2,4} +(.+?)[ :?#]*$", re.MULTILINE)
LOW_SCORE = 0.3
WIDTH = 100
LANES = {"lexical": "words", "vector": "meaning", "graph": "relations"}

Record = dict[str, Any]

QUESTIONS = (
    "Which database keeps the ledger, and why that one?",
    "Can I safely repeat a request when the network failed?",
)
"""The first asks about a decision that replaced another; the second shares few words with its answer."""
REPOSITORY = "How do I back up and restore the ledger?"
OFF_TOPIC = "How long does sourdough bread rest before baking?"
AGENT_QUESTION = "Who may read what I remember in private?"
LOCKED = 1
"""Place of the error pattern in `RECORDS`."""

RECORDS: tuple[Record, ...] = (
    {
        "entity_type": "pattern",
        "name": "Retry a write under the same Idempotency-Key",
        "content": "Make one UUID per write and send it as Idempotency-Key. If the connection breaks before the answer "
        "comes, send the very same request again: the service repeats its first answer and applies nothing twice. "
        "Never make a new key for a retry.",
        "category": "reliability",
        "languages": ["python", "typescript"],
    },
    {
        "entity_type": "error_pattern",
        "name": "`database is locked` when two processes write",
        "content": "Symptom: OperationalError: database is locked, under load and only in production. Cause: a second "
        "worker process opened the same SQLite file and began its transaction with a read. Fix: one process "
        "owns the file, and every write transaction starts with BEGIN IMMEDIATE.",
        "category": "storage",
        "languages": ["sql"],
    },
)

OLD_DECISION: Record = {
    "title": "The ledger lives in DuckDB",
    "entity_type": "decision",
    "content": "We keep the ledger in DuckDB, because reports read it directly and one engine is less to learn.",
    "category": "storage",
}

NEW_DECISION: Record = {
    "title": "The ledger lives in SQLite",
    "entity_type": "decision",
    "content": "We keep the ledger in SQLite in WAL mode with full synchronisation. A durable one-row insert takes a "
    "fifth of a millisecond there and more than one in DuckDB, which also refuses concurrent updates of one row. "
    "Reports still run on DuckDB, from an export.",
    "category": "storage",
}
"""Supersedes the old decision and refers to the error pattern; the demo adds the ids."""


class Corpus(NamedTuple):
    """Documents, grouped into requests; `skipped` counts files that are not text or exceed the limit."""

    name: str
    url: str
    requests: Sequence[Sequence[Record]]
    skipped: int
    question: str


def checkout() -> Path | None:
    root = Path(__file__).resolve().parents[1]
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else None


def read_corpora(folder: Path | None) -> list[Corpus]:
    """Read the documents of this checkout, if there is one, and of a folder, or raise EngrainError."""
    found = []
    if root := checkout():
        # Not the README, which holds the questions with their answers, nor generated pages, which double the time.
        pages = sorted(path for path in (root / "docs").rglob("*.md") if path.parent.name != "reference")
        own = _corpus("Engrain documentation", root, [root / "CONTRIBUTING.md", root / "AGENTS.md", *pages])
        found.append(own._replace(question=REPOSITORY))
    if folder is not None:
        top = folder.expanduser().resolve()
        if not top.is_dir():
            raise EngrainError(f"{folder} is not a folder.")
        files = sorted(files_of(top, SUFFIXES), key=lambda path: (len(path.parts), path))
        found.append(_corpus(top.name or str(top), top, files))
    if not all(corpus.requests for corpus in found):
        raise EngrainError(f"{folder} holds no Markdown, reStructuredText or text file that could be read.")
    return found


def _corpus(name: str, root: Path, files: Sequence[Path]) -> Corpus:
    failures: list[Record] = []
    requests = [*batches(root, _within_limit(files), failures)]
    documents = [str(each["content"]) for request in requests for each in request]
    # About the last section of the largest document, or else its first words.
    largest = max(documents, key=len, default="")
    about = (_HEADING.findall(largest) or [" ".join(largest.split()[:8])])[-1]
    question = f"What do we know about {about}?"
    return Corpus(name[:200], root.as_uri()[:2000], requests, len(files) - len(documents), question)


def _within_limit(files: Iterable[Path]) -> Iterator[Path]:
    room = BYTES_LIMIT
    for path in files:
        if (size := path.stat().st_size) <= room:
            room -= size
            yield path


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Also ingest the Markdown, reStructuredText and text files of this folder.")
    ] = None,
) -> int:
    try:
        with stoppable(), tempfile.TemporaryDirectory(prefix="engrain-demo-") as temporary:
            _play(Path(temporary), read_corpora(folder))
    except EngrainError as failure:
        typer.echo(f"\nThe demo failed: {failure.message}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("\nStopped; the server and its temporary folder are gone.", err=True)
        return 1
    return 0


def _play(temporary: Path, corpora: Sequence[Corpus]) -> None:
    _title("1. Start")
    start = time.monotonic()
    with served(temporary, {}) as server:
        took = time.monotonic() - start
        _line(f"engrain serve is ready at {server.address} after {took:.1f} s (process {server.process.pid}).")
        _line(f"Everything it stores is in {temporary}, and is removed at the end.")
        with Client(server.address) as anybody, anybody.signed_up("Ada") as ada:
            me = ada.get("/api/auth/me")
            _line(f"Ada signed up over REST and is {me['org_role']} of {me['organization']['name']!r}.")
            _ingest(ada, corpora)
            old, new = _teach(ada)
            _wait(ada)
            rest_ms = _ask_over_rest(ada, (*QUESTIONS, *(corpus.question for corpus in corpora)), retired=old)
            agent_ms = _ask_over_mcp(ada, AGENT_QUESTION if checkout() else QUESTIONS[0], decision=new)
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


def _ingest(client: Client, corpora: Iterable[Corpus]) -> None:
    _title("2. Read documents (POST /api/ingestion/documents)")
    for corpus in corpora:
        start, chunks = time.perf_counter(), 0
        source: dict[str, Any] = {"source_name": corpus.name, "source_url": corpus.url}
        for documents in corpus.requests:
            stored = client.post("/api/ingestion/documents", {**source, "documents": documents})
            source, chunks = {"source_id": stored["source_id"]}, chunks + stored["chunk_count"]
        took, sizes = time.perf_counter() - start, [len(each["content"]) for part in corpus.requests for each in part]
        said = f"{len(sizes)} documents, {sum(sizes):,} characters → {chunks} chunks"
        _line(f"{corpus.name}: {said}, durable after {took:.2f} s.")
        if corpus.skipped:
            _line(f"Not read: {corpus.skipped} files that are no text, empty, or too large.")


def _teach(client: Client) -> tuple[str, str]:
    _title("3. Remember what the team knows (POST /api/entities/bulk, and the MCP tool `add`)")
    # Not deferred: these go ahead of the documents, which are still being embedded.
    wanted = {"entities": list(RECORDS), "defer_embeddings": False}
    stored = client.post("/api/entities/bulk?sync=true", wanted)
    kinds = ", ".join(entity["entity_type"] for entity in stored["entities"])
    _line(f"REST: {stored['total']} records ({kinds}), in every index after {client.took_ms:.0f} ms.")
    old = client.tool("add", OLD_DECISION)
    _line(f"MCP: {old['message']} ({client.took_ms:.0f} ms).")
    links = [f"supersedes:{old['id']}", f"references:{stored['entities'][LOCKED]['id']}"]
    new = client.tool("add", {**NEW_DECISION, "related_to": links})
    _line(f"MCP: {new['message']} ({client.took_ms:.0f} ms), which retires the first.")
    return str(old["id"]), str(new["id"])


def _wait(client: Client) -> None:
    start, waiting = time.perf_counter(), client.pending()
    client.until_indexed()
    took = time.perf_counter() - start
    _line(f"Every index shows everything; the last {waiting} changes took {took:.1f} s.")


def _ask_over_rest(client: Client, questions: Sequence[str], *, retired: str) -> list[float]:
    _title("4. Ask over REST (POST /api/search)")
    times = []
    for question in (*questions, OFF_TOPIC):
        body = {"query": question, "limit": 5, "include_retrieval_diagnostics": True}
        answer = client.post("/api/search", body)
        times.append(client.took_ms)
        _answered(question, answer, client.took_ms)
        best = max((hit["score"] for hit in answer["results"]), default=0.0)
        if any(hit["id"] == retired for hit in answer["results"]):
            raise EngrainError(f"a retired decision was found for {question!r}.")
        if question != OFF_TOPIC and not answer["results"]:
            raise EngrainError(f"nothing was found for {question!r}.")
        if question == OFF_TOPIC and best >= LOW_SCORE:
            raise EngrainError(f"{question!r} has no answer here, and yet a hit scored {best:.2f}.")
    _line(f"The best score is {best:.2f}: nothing here is about it.", indent=5)
    return times


def _ask_over_mcp(client: Client, question: str, *, decision: str) -> list[float]:
    _title("5. Ask over MCP (this is the text that an agent's model reads)")
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
        if tool == "search" and not answer["results"]:
            raise EngrainError(f"nothing was found over MCP for {question!r}.")
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
