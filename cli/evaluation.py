"""`engrain eval …`: measure, keep the runs, and compare them."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

DEFAULT = "retrieval"
SUITES = {
    DEFAULT: "Measure searches and recalls on labelled sets, over REST, against a server that is started for it.",
    "reflection": "Measure the findings of reflection in labelled notes.",
    "release-notes": "Measure what release notes of public repositories call breaking.",
}
_FIXED = frozenset({"ENGRAIN_DATA_DIR", "ENGRAIN_HOST", "ENGRAIN_PORT"})


class _Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401, RUF100 - typer brings its own click
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = [DEFAULT, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


group = typer.Typer(cls=_Group, name="eval", add_completion=False, pretty_exceptions_enable=False)
RunsOption = Annotated[Path | None, typer.Option("--runs", help="Folder of the stored runs; the user's by default.")]
RunArgument = Annotated[str, typer.Argument(help="Id of a run or its beginning, `latest`, `latest~1`, or a baseline.")]


@group.callback()
def evaluate() -> None:
    """Measure the product on labelled data, keep every run, and compare runs.

    Without a command it measures retrieval. Exit code 1 if a `--strict` run falls short, 2 if there is nothing to
    measure, 130 if interrupted.
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
        from evals.harness.arms import ARMS  # noqa: PLC0415 - engines load only when they are used
        from evals.runs import Options  # noqa: PLC0415 - as above
        from evals.suites import run_suite  # noqa: PLC0415 - as above

        options = Options(
            data=data, sets=_words(sets), arms=tuple(ARMS) if arms == "all" else _words(arms), limit=limit,
            server=_settings(setting), without_speakers=without_speakers, runs=runs, name=name, strict=strict,
        )  # fmt: skip
        raise typer.Exit(run_suite(suite, options, typer.echo))


for _suite, _summary in SUITES.items():
    _add_suite(_suite, _summary)


@group.command(name="runs")
def list_runs(runs: RunsOption = None) -> None:
    """List the stored runs, the latest first."""
    from evals.commands import show_runs  # noqa: PLC0415 - as above

    _exit(lambda: show_runs(runs, typer.echo))


@group.command()
def report(run: RunArgument = "latest", runs: RunsOption = None) -> None:
    """Print the report of a stored run as Markdown."""
    from evals.commands import show_report  # noqa: PLC0415 - as above

    _exit(lambda: show_report(run, runs, typer.echo))


@group.command()
def compare(
    before: RunArgument,
    after: RunArgument = "latest",
    arms: Annotated[str, typer.Option(help="BEFORE,AFTER: one arm of the first run with one of the second.")] = "",
    runs: RunsOption = None,
) -> None:
    """Compare two runs question by question, with intervals."""
    from evals.commands import show_comparison  # noqa: PLC0415 - as above

    pair = _words(arms)
    if pair and len(pair) != 2:
        raise typer.BadParameter("it takes two names: BEFORE,AFTER", param_hint="--arms")
    _exit(lambda: show_comparison((before, after), (pair[0], pair[1]) if pair else None, runs, typer.echo))


@group.command()
def gate(baseline: RunArgument, run: RunArgument = "latest", runs: RunsOption = None) -> None:
    """Fail with exit code 1 if a run is worse than a baseline beyond noise."""
    from evals.commands import judge_run  # noqa: PLC0415 - as above

    _exit(lambda: judge_run(baseline, run, runs, typer.echo))


@group.command()
def baseline(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="Where to write it; it ends in .jsonl.")],
    runs: RunsOption = None,
) -> None:
    """Write the figures of a run, question by question and without texts, as a file that a repository can hold."""
    from evals.commands import write_baseline  # noqa: PLC0415 - as above

    _exit(lambda: write_baseline(run, file, runs, typer.echo))


@group.command()
def validate(files: Annotated[list[Path], typer.Argument(help="Files of our own form, see guide/evaluation.")]) -> None:
    """Check labelled sets of our own form: each problem is named with file, line and field. Exit code 1 for some."""
    from evals.commands import check_files  # noqa: PLC0415 - as above

    _exit(lambda: check_files(files, typer.echo))


def _exit(act: Callable[[], int]) -> None:
    from stores.errors import EngrainError  # noqa: PLC0415 - as above

    try:
        code = act()
    except (EngrainError, OSError) as error:
        typer.echo(error.message if isinstance(error, EngrainError) else f"{error}")
        code = 2
    raise typer.Exit(code)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _settings(given: list[str] | None) -> dict[str, str]:
    from stores.errors import InvalidSetting  # noqa: PLC0415 - as above
    from tools.runtime.settings import unknown_settings  # noqa: PLC0415 - as above

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
