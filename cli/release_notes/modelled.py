"""Notes with a language model: draft, wording, critics."""

import logging

import anyio
import structlog

from cli.release_notes.asking import Asker
from cli.release_notes.choice import Chosen
from cli.release_notes.console import Steps
from cli.release_notes.critic import Finding
from cli.release_notes.document.drafting import draft
from cli.release_notes.document.model import Document
from cli.release_notes.document.presets import Preset
from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.focus import Focus, read_focus
from cli.release_notes.reviewing import review
from cli.release_notes.writing import word, worded
from stores.errors import InvalidSetting
from tools.llm import LanguageModel, ModelSpec, Naming, build_language_model
from tools.runtime.client_settings import KEY_NAMES


def with_model(
    facts: ReleaseFacts, preset: Preset, asked: str, chosen: Chosen, steps: Steps, *, critic: bool
) -> tuple[Document, list[Finding]]:
    """Return the worded document and the critics' findings.

    Raises:
        ReleaseNotesFailed: The model cannot be asked or gave no usable answer.
    """
    asker = Asker(_built(chosen), steps, context_tokens=chosen.context_tokens)
    # The model follows the instructions; their words only decide what it is given first.
    document = draft(facts, preset, Focus(first=read_focus(asked).first))
    findings: list[Finding] = []

    async def work() -> Document:
        wording, wrong = await word(asker, facts, document, preset, asked)
        findings.extend(wrong)
        texts = sum(each.endswith(".text") for each in wording.claims)
        said = [f"Model: {asker.name} worded {texts} of {wording.asked_for} changes"]
        if wording.left_out:
            said.append(f"left out {len(wording.left_out)} as asked")
        if critic and wording.claims:
            reviewed = await review(asker, facts, wording)
            findings.extend(reviewed.findings)
            said.append(f"its critic judged {reviewed.judged} of {reviewed.claims} texts")
            wording = reviewed.wording
        steps.note(f"{', '.join(said)}.")
        return worded(document, facts, wording, preset)

    return anyio.run(work), findings


def _built(chosen: Chosen) -> LanguageModel:
    # What goes wrong is said in a sentence, and a line of the log in the notes would be none.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    spec = ModelSpec(chosen.provider, chosen.model, chosen.base_url, chosen.api_key, chosen.timeout_s)  # type: ignore[arg-type]
    naming = Naming(chosen.provider_from, KEY_NAMES.get(chosen.provider, "the key"), "ENGRAIN_LLM_BASE_URL")
    try:
        model = build_language_model(spec, naming)
    except InvalidSetting as error:
        raise ReleaseNotesFailed(f"{error.message} {error.remediation}") from None
    if model is None:
        raise AssertionError("a specification gives a model")
    return model
