"""`engrain release-notes`: from flags to a document. Progress goes to standard error, the notes to standard output."""

import io
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from cli.release_notes.configuration import (
    PRESETS,
    PROVIDERS,
    Configuration,
    PresetName,
    RunSettings,
    personal_configuration,
    planned,
    project_configuration,
)  # fmt: skip
from cli.release_notes.facts import FactsRequest, ReleaseFacts, ReleaseNotesFailed
from cli.release_notes.notes import read_focus, shown, title, write_notes
from tools.runtime.client_settings import read_model_settings
from tools.text.plain import one_line

if TYPE_CHECKING:
    from rich.status import Status


class Steps:
    """Progress: a spinner on a terminal, a line per step with `--debug`, otherwise nothing."""

    def __init__(self, stream: TextIO, *, debug: bool, spinner: bool) -> None:
        self._stream, self._debug, self._started = stream, debug, time.monotonic()
        self._status: Status | None = None
        if spinner and not debug and stream.isatty():
            from rich.console import Console  # noqa: PLC0415 - loading it takes long, and pipes need none

            console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)
            self._status = console.status("Reading the settings")

    def __call__(self, step: str, detail: object = "") -> None:
        if self._status is not None:
            self._status.update(one_line(step, 100).replace("[", "\\["))
        if self._debug:
            more = f": {one_line(str(detail), 400)}" if detail != "" else ""
            self.note(f"[{time.monotonic() - self._started:7.3f} s] {step}{more}")

    def note(self, text: str) -> None:
        with suppress(OSError, ValueError):  # standard error may be closed: the notes count
            write = self._status.console.print if self._status is not None else partial(print, file=self._stream)
            write(one_line(text))
            self._stream.flush()

    def shown(self) -> AbstractContextManager[object]:
        return self._status or nullcontext()


def _provider(name: str | None) -> str | None:
    if name is not None and name.strip().lower() not in PROVIDERS:
        raise typer.BadParameter(f"there is no provider {name!r}; there are {', '.join(PROVIDERS)}")
    return name


def release_notes(  # noqa: PLR0913 - a parameter for each flag
    from_ref: Annotated[
        str, typer.Option("--from", metavar="REF", help="Start of the release: a tag, branch or commit.")
    ],
    to_ref: Annotated[str, typer.Option("--to", metavar="REF", help="End of the release.")] = "HEAD",
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
            help="Provider of the language model: "
            "openai, anthropic, google, ollama, or offline for none; by default the one whose key is set.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The language model's name.")] = None,
    repo: Annotated[
        str | None,
        typer.Option("--repo", "-r", metavar="URL", help="Clone this repository instead of reading the one here."),
    ] = None,
    preset: Annotated[
        PresetName | None, typer.Option("--preset", case_sensitive=False, help="Length and audience of the notes.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", "-i", help="Changes to put first, and changes to leave out.")
    ] = None,
    critic: Annotated[
        bool | None,
        typer.Option(
            "--critic/--no-critic",
            show_default=False,
            help="Let the model check its text against the commits (default). Citations, numbers and names"
            " are checked all the same.",
        ),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show each step, its inputs and timings on standard error.")
    ] = False,
) -> int:
    """No server is needed, and no language model.

    Exit code 1 for a failure, 2 for an invalid command line.
    """
    flags = Configuration(
        provider=provider, model=model, preset=preset, instructions=instructions,
        critic=critic, file=None if file is None else str(file),
    )  # fmt: skip
    spinner = not raw and os.environ.get("TERM") != "dumb"
    steps = Steps(sys.stderr or io.StringIO(), debug=debug, spinner=spinner)
    try:
        with steps.shown():
            steps("Reading the settings")
            # The configuration of a clone is untrusted and not read.
            project = Configuration() if repo is not None else project_configuration(_here())
            plan = planned(flags, read_model_settings(os.environ), project, personal_configuration())
            is_technical = plan.preset is PresetName.TECHNICAL
            request = FactsRequest(None, repo, from_ref, to_ref, version_name, interfaces=is_technical)
            facts, markdown = _made(request, plan, steps)
        if plan.critic and plan.model is None:
            steps.note("Note: the critic is skipped, as no language model wrote these notes.")
        _print(markdown, raw=raw, steps=steps)
        if update:
            from cli.release_notes.update import update_file  # noqa: PLC0415 - few runs write

            steps("Writing", plan.file)
            steps.note(f"{plan.file}: {title(facts)} {update_file(Path(plan.file), markdown, facts.version)}.")
        elif flags.file is not None:
            steps.note("Note: --file has no effect without --update.")
    except (ReleaseNotesFailed, KeyboardInterrupt) as failure:
        steps.note(f"Error: {failure if str(failure) else 'Interrupted: nothing more was written.'}")
        return 1
    return 0


def _made(request: FactsRequest, plan: RunSettings, steps: Steps) -> tuple[ReleaseFacts, str]:
    from cli.release_notes.analysis.analyse import analyse  # noqa: PLC0415 - the help does not need it

    named = f"{plan.model.spec.name} (by {plan.model.provider_from})" if plan.model else "offline"
    steps("Settings", f"preset {plan.preset}, model {named}, critic {plan.critic}, file {plan.file}")
    facts = analyse(request, steps)
    steps("Analysed", f"{len(facts.commits)} commits, {len(facts.changes)} changes")
    preset, focus = PRESETS[plan.preset], read_focus(plan.instructions)
    if plan.model is not None:
        from cli.release_notes.writing import with_model  # noqa: PLC0415 - an extra, and seconds to import

        facts, notes = with_model(facts, shown(facts, preset, focus), plan, plan.model, steps)
        for note in notes:
            steps.note(note)
    elif focus.asked:
        steps.note("Note: instructions, without a language model, choose and order changes by their words.")
    return facts, write_notes(facts, preset, focus)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ReleaseNotesFailed(f"The working folder cannot be found: {error.strerror or error}.") from None


def _print(markdown: str, *, raw: bool, steps: Steps) -> None:
    steps("Printing", f"{len(markdown):,} characters")
    try:
        _show(markdown, raw=raw)
    except OSError as error:
        with suppress(OSError, ValueError, AttributeError):  # there may be no standard output at all
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise ReleaseNotesFailed(f"The notes cannot be printed: {error.strerror or error}.") from None


def _show(markdown: str, *, raw: bool) -> None:
    stream = sys.stdout
    if stream is None:
        raise BrokenPipeError
    reconfigure = getattr(stream, "reconfigure", lambda **_: None)
    if raw:
        reconfigure(encoding="utf-8", errors="replace", newline="\n")
        stream.write(markdown)
    else:
        from rich.console import Console  # noqa: PLC0415 - as above
        from rich.markdown import Markdown  # noqa: PLC0415 - as above

        class Page(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        reconfigure(errors="replace")  # a question mark for what the terminal's encoding lacks
        Page(file=stream, emoji=False, highlight=False).print(Markdown(markdown))
    stream.flush()
