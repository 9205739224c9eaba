"""The commands of `engrain`; each imports its modules when it runs."""

import gc
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.evaluation import group as evaluation
from cli.governance import correct, review
from cli.local.commands import logs, mcp, status, stop_server, up
from cli.release_notes.presets import PROVIDERS, PresetName
from cli.setup import hook, setup
from cli.sources import export, import_source
from cli.verbs.memory import COMMANDS
from cli.verbs.work import GROUPS

app = typer.Typer(
    name="engrain",
    help="A memory that software teams and their coding agents share.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder that holds everything (ENGRAIN_DATA_DIR).")]
UrlOption = Annotated[str | None, typer.Option("--url", help="Address of the server (ENGRAIN_URL).")]
OrganizationOption = Annotated[str | None, typer.Option("--organization", help="Only this organization (id or slug).")]


IndexName = StrEnum("IndexName", ("LEXICAL", "GRAPH", "VECTORS"))


def _provider(name: str | None) -> str | None:
    if name is None:
        return None
    if name.strip().lower() not in PROVIDERS:
        raise typer.BadParameter(f"there is no provider {name!r}; there are {', '.join(PROVIDERS)}")
    return name


@app.command()
def version() -> None:
    """Print the version."""
    from tools.runtime.version import VERSION  # noqa: PLC0415 - reading metadata is slower than the other commands' start

    typer.echo(VERSION)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ENGRAIN_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one (ENGRAIN_PORT).")] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve REST, WebSocket and MCP from one data folder, until interrupted."""
    # Read when numpy loads. Threads of a BLAS spin while they wait, and take processor time from everything else.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Objects of modules and of requests are hardly ever in cycles, and looking for those takes long.
    gc.set_threshold(20_000, 20, 100)
    from cli.serving import run_server  # noqa: PLC0415 - engines load only when they are used

    raise typer.Exit(run_server(os.environ, host=host, port=port, data_dir=data_dir))


@app.command()
def worker() -> None:
    """Run background jobs of a ledger on PostgreSQL (ENGRAIN_DATABASE_URL), until interrupted."""
    from cli.worker import run_worker  # noqa: PLC0415 - as above

    raise typer.Exit(run_worker(os.environ))


@app.command()
def login(
    url: UrlOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address instead of opening it.")] = False,
    email: Annotated[str | None, typer.Option(help="Log in with this address and a password, which is asked.")] = None,
    api_key: Annotated[bool, typer.Option("--api-key", help="Keep an API key, read from standard input.")] = False,
) -> None:
    """Log in to a server, in a browser on this or any other device. What it gets is kept for this user alone."""
    from cli.login import run_login  # noqa: PLC0415 - only commands that talk to a server need a client

    raise typer.Exit(run_login(os.environ, url=url, no_browser=no_browser, email=email, api_key=api_key))


@app.command()
def logout(url: UrlOption = None) -> None:
    """End the session on the server, and forget what `engrain login` kept for it."""
    from cli.login import run_logout  # noqa: PLC0415 - as above

    raise typer.Exit(run_logout(os.environ, url=url))


@app.command()
def whoami(
    url: UrlOption = None, json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False
) -> None:
    """Say who is logged in, in which organization and to which server. Exit code 3 when nobody is."""
    from cli.login import run_whoami  # noqa: PLC0415 - as above

    raise typer.Exit(run_whoami(os.environ, url=url, as_json=json))


@app.command()
def check(
    data_dir: DataDir = None,
    organization: OrganizationOption = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for indexes that are behind, all in all.")
    ] = 10,
) -> None:
    """Read every record, and prove that every index equals the ledger. The server must be stopped.

    Exit code 1 where one differs or a record cannot be read, 3 where one is only behind.
    """
    from cli.maintenance import run_check  # noqa: PLC0415 - engines load only when they are used

    raise typer.Exit(run_check(os.environ, data_dir=data_dir, organization=organization, wait_s=wait))


@app.command()
def reindex(
    data_dir: DataDir = None,
    organization: OrganizationOption = None,
    index: Annotated[list[IndexName] | None, typer.Option(help="Only this index.")] = None,
) -> None:
    """Rebuild indexes from the ledger. The server must be stopped."""
    from cli.maintenance import run_reindex  # noqa: PLC0415 - engines load only when they are used

    raise typer.Exit(run_reindex(os.environ, data_dir=data_dir, organization=organization, names=index or ()))


@app.command()
def backup(
    file: Annotated[
        Path | None,
        typer.Argument(help="A new file (….gz), or a folder; DATA_DIR/backups by default.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Write a backup of the data folder into one file, also while a server uses it. Indexes stay out."""
    from cli.backup import run_backup  # noqa: PLC0415 - as above

    raise typer.Exit(run_backup(os.environ, data_dir=data_dir, target=file))


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `engrain backup` wrote.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Restore a backup into an empty data folder, and verify the audit log. The next start rebuilds the indexes."""
    from cli.backup import run_restore  # noqa: PLC0415 - as above

    raise typer.Exit(run_restore(os.environ, data_dir=data_dir, file=file))


@app.command()
def doctor(
    data_dir: DataDir = None, json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False
) -> None:
    """Check folder, lock, port, disk, versions, model, indexes and clock. Exit code 1 if something fails."""
    from cli.doctor import run_doctor  # noqa: PLC0415 - as above

    raise typer.Exit(run_doctor(os.environ, data_dir=data_dir, as_json=json))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Also ingest the Markdown, reStructuredText and text files of this folder.")
    ] = None,
) -> None:
    """Start a server on a temporary folder, feed it real text, ask it questions, and clean up."""
    from cli.demo import run_demo  # noqa: PLC0415 - the MCP client loads only when it is used

    raise typer.Exit(run_demo(folder))


@app.command(name="release-notes")
def release_notes(  # noqa: PLR0913 - a parameter for each flag
    from_ref: Annotated[
        str, typer.Option("--from", metavar="REF", help="Where the release begins: a tag, branch or commit.")
    ],
    to_ref: Annotated[str, typer.Option("--to", metavar="REF", help="Where it ends.")] = "HEAD",
    version_name: Annotated[
        str | None, typer.Option("--version-name", help="Version in the title, instead of the tag's name.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the Markdown alone: no colour, no spinner.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Also put the notes into the file, in the place of the same version.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("--file", help="The file of --update; RELEASE_NOTES.md by default.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            "--provider",
            callback=_provider,
            help="Whose language model words the notes: "
            "openai, anthropic, google, ollama, or offline for none; by default the one whose key is set.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The language model's name.")] = None,
    repo: Annotated[
        str | None,
        typer.Option("--repo", "-r", metavar="URL", help="Clone this repository instead of reading the one here."),
    ] = None,
    preset: Annotated[
        PresetName | None, typer.Option("--preset", case_sensitive=False, help="How much is said, and to whom.")
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option("--instructions", "-i", help="What matters most in these notes, and what to leave out."),
    ] = None,
    critic: Annotated[
        bool, typer.Option("--critic", help="Let the model check what it wrote against the commits; so by default.")
    ] = False,
    no_critic: Annotated[
        bool, typer.Option("--no-critic", help="Leave that out. Citations, numbers and names are checked all the same.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show each step, its inputs and timings on standard error.")
    ] = False,
) -> None:
    """Write the release notes of a Git repository: what changed between two points, each statement with its commits.

    No server is needed, and no language model. Exit code 1 where it fails, 2 where the command line makes no sense.
    """
    from cli.release_notes.command import run_release_notes  # noqa: PLC0415 - as above
    from cli.release_notes.configuration import Configuration  # noqa: PLC0415 - as above
    from cli.release_notes.facts import FactsRequest  # noqa: PLC0415 - as above

    if critic and no_critic:
        raise typer.BadParameter("it excludes --critic", param_hint="--no-critic")
    checks = True if critic else False if no_critic else None
    flags = Configuration(
        provider=provider, model=model, preset=preset, instructions=instructions, critic=checks,
        file=str(file) if file is not None else None,
    )  # fmt: skip
    request = FactsRequest(None, repo, from_ref, to_ref, version_name)
    raise typer.Exit(run_release_notes(os.environ, request, flags, raw=raw, update=update, debug=debug))


@app.command(name="capture-run")
def capture_run(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.", show_default=False)],
    project: Annotated[str, typer.Option("--project", "-p", help="Id or name of the project that keeps it.")],
    goal: Annotated[str | None, typer.Option("--goal", "-g", help="What the run is for, in a sentence.")] = None,
    source_id: Annotated[
        str | None, typer.Option("--source-id", help="Id of the run; a later run of the same id revises what is kept.")
    ] = None,
    url: UrlOption = None,
) -> None:
    """Run a command, and keep it, its output, exit code and duration as an operational experience of a project.

    What looks like a credential is redacted before anything leaves this machine. Exit code: the command's own.
    """
    from cli.capture import Options, run_capture  # noqa: PLC0415 - only commands that talk to a server need it

    raise typer.Exit(run_capture(os.environ, Options(command, project, goal, source_id, url)))


@app.command()
def crawl(  # noqa: PLR0913 - a parameter for each flag
    source: Annotated[str, typer.Argument(help="A folder, or the address of a site or sitemap.", show_default=False)],
    project: Annotated[str | None, typer.Option("--project", "-p", help="Id or name of the project.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the source, if it is new.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Links to follow from the first page; 3 by default.")] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Most pages to read; 200 by default.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Only pages whose path fits, such as '/guide/*'; repeatable.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No pages whose path fits; repeatable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    url: UrlOption = None,
) -> None:
    """Keep the pages of a site, or the files of a folder, as documents of a source; again, only what has changed.

    The server reads a site; this command reads a folder: Markdown, reStructuredText, text, HTML and PDF files.
    """
    from cli.crawling import Options, run_crawl  # noqa: PLC0415 - only commands that talk to a server need it

    limits = {"depth": depth, "pages": pages, "include": include, "exclude": exclude}
    raise typer.Exit(run_crawl(os.environ, Options(source, project, name, limits, json, url)))


OUTPUT_TYPES = (
    "documentation", "report", "briefing", "roadmap", "release_notes", "audit_packet", "custom", "handbook",
)  # fmt: skip
DEPTHS = ("brief", "standard", "deep")
OUTPUT_FORMATS = ("markdown", "json")


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def check(word: str) -> str:
        meant = word.strip().lower().replace("-", "_")
        if meant not in words:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(words)}")
        return meant

    return check


@app.command()
def synthesize(  # noqa: PLR0913 - a parameter for each flag
    goal: Annotated[str, typer.Option("--goal", "-g", help="What the document is about, in a sentence.")],
    output_type: Annotated[
        str, typer.Option("--type", "-t", callback=_one_of(OUTPUT_TYPES), help=f"One of {', '.join(OUTPUT_TYPES)}.")
    ] = "documentation",
    project: Annotated[str | None, typer.Option("--project", "-p", help="Id or name of the project.")] = None,
    output_format: Annotated[
        str, typer.Option("--format", "-f", callback=_one_of(OUTPUT_FORMATS), help="markdown or json.")
    ] = "markdown",
    depth: Annotated[
        str, typer.Option("--depth", callback=_one_of(DEPTHS), help="brief, standard or deep: how much is in it.")
    ] = "standard",
    audience: Annotated[str | None, typer.Option("--audience", help="For whom it is.")] = None,
    section: Annotated[
        list[str] | None, typer.Option("--section", help="A section in place of those of the type; repeatable.")
    ] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Also keep it: for the members of the project, else for you alone.")
    ] = False,
    url: UrlOption = None,
) -> None:
    """Write a document of what is known, each line with the records that it rests on, to standard output."""
    from cli.synthesis import Options, run_synthesize  # noqa: PLC0415 - only commands that talk to a server need it

    options = Options(goal, output_type, depth, output_format, project, audience, tuple(section or ()), remember, url)
    raise typer.Exit(run_synthesize(os.environ, options))


@app.command()
def bench(
    entities: Annotated[int | None, typer.Option(min=100, help="Entities to measure on; 10,000 by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1,000 entities and a tenth of the calls.")] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the figures into this file.")] = None,
) -> None:
    """Measure speed against a real server on a temporary folder."""
    from evals.bench import run_bench  # noqa: PLC0415 - engines load only when they are used

    raise typer.Exit(run_bench(entities, typer.echo, quick=quick, json_file=json))


app.add_typer(evaluation)
app.command()(correct)
app.command()(export)
app.command("import")(import_source)
app.command()(review)
_SIMPLE: list[Callable[..., None]] = [up, status, logs, mcp, setup, *COMMANDS]
for _command in _SIMPLE:
    app.command()(_command)
for _group in GROUPS:
    app.add_typer(_group)
app.command("stop")(stop_server)
app.command(hidden=True)(hook)


@app.command(hidden=True)
def reference(
    write: Annotated[Path | None, typer.Option(help="Write the pages into this folder.")] = None,
    check: Annotated[Path | None, typer.Option(help="Exit with 1 if a page in this folder has drifted.")] = None,
) -> None:
    """Generate the reference pages of the documentation from the code."""
    from cli.reference import run_reference  # noqa: PLC0415 - the catalogue loads only when it is used

    raise typer.Exit(run_reference(app, write=write, check=check))
