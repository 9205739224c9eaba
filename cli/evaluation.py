"""`engrain bench`, and `engrain eval …`: measure, keep the runs, and compare them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evals.datasets import read_own
from evals.harness.arms import ARMS
from evals.report import compare as paired
from evals.report import compared, judge, markdown, table
from evals.runs import CASES, Options, baseline_lines, default_runs, read_run, stored_runs
from evals.suites import NOTHING_TO_MEASURE, SUITES, run_suite
from stores.errors import EngrainError, InvalidSetting
from tools.runtime.settings import unknown_settings

DEFAULT = "retrieval"
WORSE = 1
_FIXED = frozenset({"ENGRAIN_DATA_DIR", "ENGRAIN_HOST", "ENGRAIN_PORT"})


def bench(
    entities: Annotated[int | None, typer.Option(min=100, help="Entities to measure on; 10,000 by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1,000 entities and a tenth of the calls.")] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the figures into this file.")] = None,
) -> int:
    from evals.bench import run_bench  # noqa: PLC0415 - all that is in a server

    return run_bench(entities, typer.echo, quick=quick, json_file=json)


class _Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401, RUF100 - typer brings its own click
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = [DEFAULT, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401, RUF100 - as above
        try:
            return super().invoke(ctx)
        except (EngrainError, OSError) as error:
            typer.echo(str(error))
            raise typer.Exit(NOTHING_TO_MEASURE) from None


group = typer.Typer(cls=_Group, name="eval", add_completion=False, pretty_exceptions_enable=False)
RunsOption = Annotated[Path | None, typer.Option("--runs", help="Folder of the stored runs; the user's by default.")]
RunArgument = Annotated[str, typer.Argument(help="Id of a run or its beginning, `latest`, `latest~1`, or a baseline.")]


@group.callback()
def evaluate() -> None:
    """Without a command it measures retrieval.

    Exit code 1 if a `--strict` run falls short, 2 if there is nothing to measure, 130 if interrupted.
    """


def _add_suite(suite: str, summary: str) -> None:
    @group.command(name=suite, help=summary)
    def measure(  # noqa: PLR0913 - the options of a command
        data: Annotated[Path | None, typer.Option(help="Folder of the public sets, one subfolder each.")] = None,
        sets: Annotated[
            str, typer.Option("--set", help="Comma-separated: public sets by name, your own files by path.")
        ] = "",
        arms: Annotated[
            str, typer.Option("--arm", help="Comma-separated ways of asking; `all` for every one.")
        ] = "fast",
        limit: Annotated[int | None, typer.Option(min=1, help="Questions of each set, drawn by a fixed seed.")] = None,
        without_speakers: Annotated[bool, typer.Option("--without-speakers", help="Do not store who spoke.")] = False,
        strict: Annotated[bool, typer.Option("--strict", help="Fail if a floor or a time limit is missed.")] = False,
        setting: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE: a setting of the server that is started.")
        ] = None,
        runs: RunsOption = None,
        name: Annotated[str, typer.Option(help="Its name in the list of runs.")] = "",
    ) -> None:
        options = Options(
            data=data, sets=_words(sets), arms=tuple(ARMS) if arms == "all" else _words(arms), limit=limit,
            server=_settings(setting), without_speakers=without_speakers, runs=runs, name=name, strict=strict,
        )  # fmt: skip
        raise typer.Exit(run_suite(suite, options, typer.echo))


for _name, _suite in SUITES.items():
    _add_suite(_name, _suite.summary)


@group.command(name="runs")
def list_runs(runs: RunsOption = None) -> None:
    """List the stored runs, the latest first."""
    folder, rows = runs or default_runs(), []
    for path, record in stored_runs(folder):
        cases = (path / CASES).read_bytes().count(b"\n")
        data, name = ", ".join(record.data), str(record.command.get("name", ""))
        rows.append([path.name, record.finished_at[:16], record.version, record.commit, data, str(cases), name])
    columns = ("run", "finished", "version", "commit", "data", "cases", "name")
    typer.echo(table(columns, rows) if rows else f"There are no runs in {folder} yet.")


@group.command()
def report(run: RunArgument = "latest", runs: RunsOption = None) -> None:
    """Print the report of a stored run as Markdown."""
    typer.echo(markdown(read_run(run, runs)))


@group.command()
def compare(
    before: RunArgument,
    after: RunArgument = "latest",
    arms: Annotated[str, typer.Option(help="BEFORE,AFTER: one arm of the first run with one of the second.")] = "",
    runs: RunsOption = None,
) -> None:
    """Compare two runs question by question, with intervals."""
    pair = _words(arms)
    if pair and len(pair) != 2:
        raise typer.BadParameter("it takes two names: BEFORE,AFTER", param_hint="--arms")
    typer.echo(compared(paired(read_run(before, runs), read_run(after, runs), (pair[0], pair[1]) if pair else None)))


@group.command()
def gate(baseline: RunArgument, run: RunArgument = "latest", runs: RunsOption = None) -> None:
    """Fail with exit code 1 if a run is worse than a baseline beyond noise."""
    verdict = judge(read_run(baseline, runs), read_run(run, runs))
    typer.echo(compared(verdict))
    for failure in verdict.failures:
        typer.echo(f"Worse: {failure}")
    for reason in verdict.unjudged:
        typer.echo(f"Cannot be judged: {reason}")
    if verdict.unjudged and not verdict.failures:
        typer.echo("The gate says nothing: measure more questions.")
        raise typer.Exit(NOTHING_TO_MEASURE)
    typer.echo("The gate is open." if verdict.is_open else "The gate is closed.")
    raise typer.Exit(0 if verdict.is_open else WORSE)


@group.command()
def baseline(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="File to write; it ends in .jsonl.")],
    runs: RunsOption = None,
) -> None:
    """Write the figures of a run, question by question and without texts, as a file that a repository can hold."""
    stored = read_run(run, runs)
    file.write_text(baseline_lines(stored), encoding="utf-8")
    typer.echo(f"{file} holds the {len(stored.cases)} cases of {stored.name}.")


@group.command()
def validate(files: Annotated[list[Path], typer.Argument(help="Files of our own form, see guide/evaluation.")]) -> None:
    """Check labelled sets of our own form: each problem is named with file, line and field. Exit code 1 for some."""
    code = 0
    for file in files:
        try:
            found = read_own(file)
            asked = len(found.questions) + len(found.unanswered)
            typer.echo(f"{file}: {found.name}, {len(found.texts)} texts, {asked} questions.")
        except EngrainError as error:
            typer.echo(error.message)
            code = 1
    raise typer.Exit(code)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _settings(given: list[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or ()]
    settings = {name: value for name, _, value in pairs}
    try:
        wrong = [f"{name!r} is not ENGRAIN_NAME=VALUE" for name, sign, _ in pairs
                 if not sign or not name.startswith("ENGRAIN_")]  # fmt: skip
        wrong += [f"{name} is chosen for the server that is started" for name in sorted(_FIXED & settings.keys())]
        wrong += unknown_settings(settings) if settings and not wrong else []
    except InvalidSetting as error:
        wrong = [error.message]
    if wrong:
        raise typer.BadParameter("; ".join(wrong), param_hint="--setting")
    return settings
