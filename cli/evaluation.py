"""`engrain eval …`: measures, keeps what was measured, and compares it."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

DEFAULT = "retrieval"


class _Group(TyperGroup):
    """Measures retrieval where no command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401, RUF100 - typer brings its own click
        """Put the command in front of options, and where nothing is said."""
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = [DEFAULT, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


group = typer.Typer(cls=_Group, name="eval", add_completion=False, pretty_exceptions_enable=False)

_CHOSEN = frozenset({"ENGRAIN_DATA_DIR", "ENGRAIN_HOST", "ENGRAIN_PORT"})
"""Settings of a server that `--setting` does not reach."""

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of the public sets, one subfolder each.")]
SetOption = Annotated[
    str | None,
    typer.Option("--set", help="Only these, comma-separated: public ones by name, your own files by path."),
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Questions of each set, drawn by a fixed seed.")]
UrlOption = Annotated[
    str | None,
    typer.Option("--url", help="Ask this server instead of one that is started; ENGRAIN_TOKEN may hold a key."),
]
ServerOption = Annotated[
    list[str] | None, typer.Option("--setting", help="NAME=VALUE: a setting of the server that is started.")
]
RunsOption = Annotated[Path | None, typer.Option("--runs", help="Folder of the stored runs; the user's by default.")]
NameOption = Annotated[str, typer.Option("--name", help="Tells this run from others of the same command.")]
AfreshOption = Annotated[
    bool, typer.Option("--afresh", help="Throw away what an interrupted run of the same command has.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Also write the figures into this file.")]
MarkdownOption = Annotated[Path | None, typer.Option("--markdown", help="Also write the report as Markdown.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="Also write the report as one HTML page.")]
RunArgument = Annotated[str, typer.Argument(help="Id of a run or its beginning, `latest`, `latest~1`, or a baseline.")]


@group.callback()
def evaluate() -> None:
    """Measure what the product finds on labelled data, keep every run, and compare runs.

    Without a command it measures retrieval. Exit code 1 where a `--strict` run falls short, 2 where there is nothing to
    measure, 130 when interrupted.
    """


@group.command()
def retrieval(  # noqa: PLR0913 - the options of a command
    data: DataOption = None,
    sets: SetOption = None,
    arms: Annotated[str, typer.Option("--arm", help="Ways of asking, comma-separated; `all` for every one.")] = "fast",
    limit: LimitOption = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions that are asked at once.")] = 1,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where a floor or a limit of time is missed.")] = False,
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what searches and recalls find, over REST, against a server that is started for it.

    An interrupted run goes on with the same command. With --strict it ends with exit code 1 where an arm misses the
    floor of a set, or where the median of its times is above the limit; the run is kept.
    """
    from evals.harness.arms import ARMS  # noqa: PLC0415 - engines load only when they are used

    names = [arm for arm in ARMS if not url or not ARMS[arm].environ] if arms == "all" else _words(arms)
    _run(
        "retrieval", url, setting, data=data, sets=_named_sets(sets), arms=names, limit=limit, concurrency=concurrency,
        strict=strict, runs=runs, name=name, afresh=afresh, json_file=json, markdown_file=markdown, html_file=html,
    )  # fmt: skip


@group.command()
def usage(  # noqa: PLR0913 - as above
    data: DataOption = None,
    sets: SetOption = None,
    limit: LimitOption = None,
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what citing what answered some questions does to others, and what reads pay for it."""
    _run(
        "usage", url, setting, data=data, sets=_named_sets(sets), limit=limit, runs=runs, name=name, afresh=afresh,
        json_file=json, markdown_file=markdown, html_file=html,
    )  # fmt: skip


@group.command()
def history(  # noqa: PLR0913 - as above
    data: DataOption = None,
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what relations and recency add to searches, and what they cost others, in the logs of public projects."""
    _run(
        "history", url, setting, data=data, runs=runs, name=name, afresh=afresh, json_file=json, markdown_file=markdown,
        html_file=html,
    )  # fmt: skip


@group.command()
def packs(  # noqa: PLR0913 - as above
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what is in context packs that must be there and what must not, on goals that come with the package."""
    _run(
        "packs", url, setting, runs=runs, name=name, afresh=afresh, json_file=json, markdown_file=markdown,
        html_file=html,
    )  # fmt: skip


@group.command()
def reflection(  # noqa: PLR0913 - as above
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what reflection finds in notes that come with the package."""
    _run(
        "reflection", url, setting, runs=runs, name=name, afresh=afresh, json_file=json, markdown_file=markdown,
        html_file=html,
    )  # fmt: skip


@group.command()
def synthesis(  # noqa: PLR0913 - as above
    limit: Annotated[int | None, typer.Option(min=1, help="Documents of each kind, from the first on.")] = None,
    url: UrlOption = None,
    setting: ServerOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure documents: what they cite of what is needed, what sources bear out, and whether gaps are named."""
    _run(
        "synthesis", url, setting, limit=limit, runs=runs, name=name, afresh=afresh, json_file=json,
        markdown_file=markdown, html_file=html,
    )  # fmt: skip


@group.command(name="release-notes")
def release_notes(  # noqa: PLR0913 - as above
    data: DataOption = None,
    runs: RunsOption = None,
    name: NameOption = "",
    afresh: AfreshOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Measure what release notes find in the logs of public projects, which are replayed."""
    _run(
        "release-notes", None, None, data=data, runs=runs, name=name, afresh=afresh, json_file=json,
        markdown_file=markdown, html_file=html,
    )  # fmt: skip


@group.command(name="runs")
def list_runs(runs: RunsOption = None) -> None:
    """List the stored runs, the latest first."""
    from evals.commands import show_runs  # noqa: PLC0415 - as above

    raise typer.Exit(show_runs(runs, typer.echo))


@group.command()
def report(
    run: RunArgument = "latest",
    runs: RunsOption = None,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
) -> None:
    """Show a stored run again, or write it as Markdown, HTML or JSON."""
    from evals.commands import show_report  # noqa: PLC0415 - as above
    from evals.options import Options  # noqa: PLC0415 - as above

    options = Options(runs=runs, json_file=json, markdown_file=markdown, html_file=html)
    raise typer.Exit(show_report(run, options, typer.echo))


@group.command()
def compare(
    before: RunArgument,
    after: RunArgument = "latest",
    arms: Annotated[
        str | None, typer.Option("--arms", help="BEFORE,AFTER: one arm of the first run with one of the second.")
    ] = None,
    runs: RunsOption = None,
    markdown: MarkdownOption = None,
) -> None:
    """Compare two runs question by question, with intervals and significance."""
    from evals.commands import show_comparison  # noqa: PLC0415 - as above

    pair = _words(arms)
    if arms is not None and len(pair) != 2:
        raise typer.BadParameter("it takes two names: BEFORE,AFTER", param_hint="--arms")
    wanted = (pair[0], pair[1]) if pair else None
    raise typer.Exit(show_comparison((before, after), wanted, runs, markdown, typer.echo))


@group.command()
def gate(
    baseline: RunArgument,
    run: RunArgument = "latest",
    max_p50: Annotated[
        float | None, typer.Option("--max-p50", min=0, help="Also fail where the median takes more milliseconds.")
    ] = None,
    runs: RunsOption = None,
) -> None:
    """Fail with exit code 1 where a run is worse than a baseline beyond noise."""
    from evals.commands import judge_run  # noqa: PLC0415 - as above

    raise typer.Exit(judge_run(baseline, run, max_p50, runs, typer.echo))


@group.command()
def baseline(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="Where to write it; it ends in .jsonl.")],
    runs: RunsOption = None,
) -> None:
    """Write the figures of a run, question by question and without texts, as a file that a repository can hold."""
    from evals.commands import write_baseline  # noqa: PLC0415 - as above

    raise typer.Exit(write_baseline(run, file, runs, typer.echo))


@group.command()
def validate(files: Annotated[list[Path], typer.Argument(help="Files of our own form (docs/evaluation.md).")]) -> None:
    """Check labelled sets of our own form: each problem is named with file, line and field. Exit code 1 for some."""
    from evals.commands import check_files  # noqa: PLC0415 - as above

    raise typer.Exit(check_files(files, typer.echo))


def _run(suite: str, url: str | None, setting: list[str] | None, **options: Any) -> None:  # noqa: ANN401, RUF100 - as Options takes them
    from evals.options import Options  # noqa: PLC0415 - engines load only when they are used
    from evals.suites import run_suite  # noqa: PLC0415 - as above

    address, key = _elsewhere(url)
    asked = Options(url=address, key=key, server=_settings(setting), **options)
    raise typer.Exit(run_suite(suite, asked, typer.echo))


def _elsewhere(url: str | None) -> tuple[str | None, str]:
    """The address of a server that runs already, and the key for it; none where one is to be started."""
    if url is None:
        return None, ""
    from cli.client.address import server_address  # noqa: PLC0415 - only with --url
    from cli.client.client import checked_token  # noqa: PLC0415 - as above
    from cli.client.failure import CommandFailed  # noqa: PLC0415 - as above

    try:
        address = server_address(url)
    except CommandFailed as failure:
        raise typer.BadParameter(f"{failure.message} {failure.remediation}", param_hint="--url") from None
    try:
        return address, checked_token(os.environ.get("ENGRAIN_TOKEN", "").strip(), "ENGRAIN_TOKEN")
    except CommandFailed as failure:
        raise typer.BadParameter(f"{failure.message} {failure.remediation}", param_hint="ENGRAIN_TOKEN") from None


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _settings(given: list[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or ()]
    if wrong := [name for name, sign, _ in pairs if not sign or not name.startswith("ENGRAIN_")]:
        raise typer.BadParameter(f"{wrong[0]!r} is not ENGRAIN_NAME=VALUE", param_hint="--setting")
    settings = {name: value for name, _, value in pairs}
    if own := sorted(_CHOSEN & settings.keys()):
        raise typer.BadParameter(f"{own[0]} is chosen for the server that is started", param_hint="--setting")
    if settings:
        _refuse_unknown(settings)
    return settings


def _refuse_unknown(settings: dict[str, str]) -> None:
    """A server only warns of a name that it does not know, and what it then measures is not what was meant."""
    from stores.errors import InvalidSetting  # noqa: PLC0415 - only with --setting
    from tools.settings import unknown_settings  # noqa: PLC0415 - as above

    try:
        unknown = unknown_settings(settings)
    except InvalidSetting as error:
        raise typer.BadParameter(error.message, param_hint="--setting") from None
    if unknown:
        raise typer.BadParameter("; ".join(unknown), param_hint="--setting")


def _named_sets(text: str | None) -> list[str]:
    """Without the option every set that there is; a list of none is a slip that would measure them all."""
    named = _words(text)
    if text is not None and not named:
        raise typer.BadParameter("it names no set; leave it out to measure all that --data has", param_hint="--set")
    return named
