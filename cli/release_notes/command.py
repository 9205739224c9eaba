"""`engrain release-notes`: from flags to a document."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cli.release_notes.choice import OFFLINE, Chosen, choose_model
from cli.release_notes.configuration import Configuration, personal_configuration, project_configuration
from cli.release_notes.console import Steps, show
from cli.release_notes.critic import Evidence, Finding, verified
from cli.release_notes.document.drafting import draft
from cli.release_notes.document.markdown import render
from cli.release_notes.document.model import Document
from cli.release_notes.document.presets import PRESETS, PresetName
from cli.release_notes.facts import FactsRequest, ReleaseFacts
from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.focus import Focus, read_focus
from tools.runtime.client_settings import read_model_settings
from tools.text.plain import one_line

DEFAULT_FILE = "RELEASE_NOTES.md"
FOUND = 10


@dataclass(frozen=True, slots=True)
class Options:
    """Flags; None if not given."""

    from_ref: str
    to_ref: str = "HEAD"
    version_name: str | None = None
    raw: bool = False
    update: bool = False
    file: Path | None = None
    provider: str | None = None
    model: str | None = None
    repo: str | None = None
    preset: PresetName | None = None
    instructions: str | None = None
    critic: bool | None = None
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    preset: PresetName
    instructions: str
    critic: bool
    file: Path
    model: Chosen | None


def run_release_notes(environ: Mapping[str, str], options: Options) -> int:
    """Print the notes and write the file, if any. Return the exit code: 0 or 1."""
    steps = Steps(
        sys.stderr or io.StringIO(), debug=options.debug, spinner=not options.raw and environ.get("TERM") != "dumb"
    )
    try:
        with steps.shown():
            plan = _planned(environ, options, steps)
            document, markdown = _made(options, plan, steps)
        _print(markdown, raw=options.raw, steps=steps)
        if options.update:
            _update(plan.file, markdown, document, steps)
        elif options.file is not None:
            steps.note("Note: --file has no effect without --update.")
    except ReleaseNotesFailed as failure:
        return _told(steps, str(failure))
    except KeyboardInterrupt:
        return _told(steps, "Interrupted: nothing more was written.")
    return 0


def _planned(environ: Mapping[str, str], options: Options, steps: Steps) -> Plan:
    steps("Reading the settings")
    personal = personal_configuration()
    # A clone was written by somebody else: what it configures is not read.
    project = Configuration() if options.repo is not None else project_configuration(_here())
    flags = Configuration(provider=options.provider, model=options.model)
    files = (project, personal)
    critic = (options.critic, *(each.critic for each in files))
    instructions = (options.instructions, *(each.instructions for each in files))
    named = next((each.file for each in files if each.file is not None), DEFAULT_FILE)
    plan = Plan(
        next(each for each in (options.preset, *(each.preset for each in files), PresetName.DEFAULT) if each),
        next((each for each in instructions if each is not None), ""),
        next((each for each in critic if each is not None), True),
        options.file if options.file is not None else Path(named),
        choose_model(flags, read_model_settings(environ), project, personal),
    )
    chosen = plan.model
    model = (
        f"{chosen.provider}:{chosen.model} (by {chosen.provider_from}, key from {chosen.key_from})"
        if chosen
        else OFFLINE
    )
    steps("Settings", f"preset {plan.preset}, model {model}, critic {'on' if plan.critic else 'off'}, file {plan.file}")
    return plan


def _made(options: Options, plan: Plan, steps: Steps) -> tuple[Document, str]:
    facts = _facts(options, steps)
    steps(
        "Analysed",
        f"{len(facts.commits)} commits, {len(facts.changes)} changes, {len(facts.surface)} changes of interfaces, "
        f"{len(facts.dependencies)} of dependencies, {facts.from_sha[:12]}..{facts.to_sha[:12]}",
    )
    preset = PRESETS[plan.preset]
    focus = read_focus(plan.instructions)
    findings: list[Finding] = []
    if plan.model is None:
        document = draft(facts, preset, focus)
        _tell_focus(focus, facts, steps)
    else:
        from cli.release_notes.modelled import with_model  # noqa: PLC0415 - an extra, and seconds to import

        document, findings = with_model(facts, preset, plan.instructions, plan.model, steps, critic=plan.critic)
    steps("Checking the citations", f"{sum(1 for _ in document.statements())} statements")
    document, more = verified(document, Evidence(facts))
    _tell_findings([*findings, *more], steps)
    steps("Rendering", f"preset {plan.preset}")
    return document, render(document, preset)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ReleaseNotesFailed(f"The working folder cannot be found: {error.strerror or error}.") from None


def _facts(options: Options, steps: Steps) -> ReleaseFacts:
    from cli.release_notes.git.address import without_credentials  # noqa: PLC0415 - as below

    where = _here() if options.repo is None else without_credentials(options.repo)
    steps("Reading the repository", f"{options.from_ref}..{options.to_ref} of {where}")
    from cli.release_notes.analysis import analyse  # noqa: PLC0415 - a Git library that the help does not need

    request = FactsRequest(None, options.repo, options.from_ref, options.to_ref, options.version_name)
    return analyse(request, steps)


def _tell_focus(focus: Focus, facts: ReleaseFacts, steps: Steps) -> None:
    if not focus.asked:
        return
    found = focus.found(facts.changes)
    first = [f"{word} ({found[word]})" for word in focus.first if found[word]]
    out = [f"{word} ({found[word]})" for word in focus.left_out if found[word]]
    nothing = [word for word in (*focus.first, *focus.left_out) if not found[word]]
    said = [f"{'only' if focus.alone else 'first'}: {', '.join(first)}"] if first else []
    said += [f"left out: {', '.join(out)}"] if out else []
    said += [f"in no change: {', '.join(nothing)}"] if nothing else []
    told = "; ".join(said) or "they name nothing that a change could be chosen by"
    steps.note(f"Note: instructions, without a language model, choose and order changes by their words. {told}.")


def _tell_findings(findings: list[Finding], steps: Steps) -> None:
    for finding in findings[:FOUND]:
        steps.note(f"Critic: {finding.outcome}, as {finding.problem}: {one_line(finding.text, 120)}")
    if len(findings) > FOUND:
        steps.note(f"Critic: and {len(findings) - FOUND} more.")


def _print(markdown: str, *, raw: bool, steps: Steps) -> None:
    steps("Printing", f"{len(markdown):,} characters")
    try:
        show(markdown, raw=raw)
    except BrokenPipeError:
        _silence_output()
    except OSError as error:
        _silence_output()
        raise ReleaseNotesFailed(f"The notes cannot be printed: {error.strerror or error}.") from None


def _silence_output() -> None:
    with suppress(OSError, ValueError, AttributeError):  # there may be no standard output at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _update(path: Path, markdown: str, document: Document, steps: Steps) -> None:
    from cli.release_notes.update import update  # noqa: PLC0415 - few runs write

    steps("Writing", str(path))
    done = update(path, markdown, document.version)
    steps.note(f"{path}: {document.title} {done}.")


def _told(steps: Steps, sentence: str) -> int:
    steps.note(f"Error: {sentence}")
    return 1
