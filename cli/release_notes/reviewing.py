"""Language model critic: compares claims with the messages that they cite."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from cli.release_notes.asking import Asker, JsonObject
from cli.release_notes.critic import Claim, Evidence, Finding, outcome_of
from cli.release_notes.document.lists import SAID_LIMIT
from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.writing import MESSAGE_LIMIT, Wording
from tools.text.plain import one_line

MESSAGES = 8
VERDICTS = ("supported", "unsupported", "repair")
INSTRUCTIONS = """\
You check release notes against the commit messages that they rest on. You are given claims, each with its id and the
messages of its commits.

For each id give `verdict`: `supported` when the messages say all of it, in whatever words; `repair` when a part of it
goes beyond them, with `text`: the claim with that part taken out or put right, and nothing added; `unsupported` when
nothing is left. Judge only what is claimed, not how. Where you are not sure that the messages say it, they do not.
"""


class Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    verdict: Annotated[
        str, BeforeValidator(lambda value: str(value).strip().lower()),
        WithJsonSchema({"type": "string", "enum": list(VERDICTS)}),
    ]  # fmt: skip
    text: str = Field("", description="The repaired claim, for the verdict `repair`.")


class Verdicts(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verdicts: list[Verdict]


@dataclass(frozen=True, slots=True)
class Review:
    wording: Wording
    findings: tuple[Finding, ...]
    judged: int
    claims: int


async def review(asker: Asker, facts: ReleaseFacts, wording: Wording) -> Review:
    """Let a model judge each claim; repairs must pass the deterministic critic.

    Raises:
        ReleaseNotesFailed: The model gave no usable answer.
    """
    evidence = Evidence(facts)
    given = [_given(claim, evidence) for claim in wording.claims.values()]
    answers = await asker.each("Checking the statements", INSTRUCTIONS, given, Verdicts)
    verdicts = {verdict.id.strip(): verdict for answer in answers for verdict in answer.verdicts}
    kept: dict[str, Claim] = {}
    findings: list[Finding] = []
    for identity, claim in wording.claims.items():
        left, finding = _judged(claim, verdicts, evidence)
        if left is not None:
            kept[identity] = left
        if finding is not None:
            findings.append(finding)
    judged = sum(identity in verdicts for identity in wording.claims)
    return Review(replace(wording, claims=kept), tuple(findings), judged, len(wording.claims))


def _judged(claim: Claim, verdicts: Mapping[str, Verdict], evidence: Evidence) -> tuple[Claim | None, Finding | None]:
    verdict = verdicts.get(claim.id)
    if verdict is None or verdict.verdict == "supported":
        return claim, None
    repaired = replace(claim, text=one_line(verdict.text, SAID_LIMIT * 2))
    problem = "its commits do not say so, the model finds"
    if verdict.verdict == "repair" and repaired.text and evidence.problem(repaired) is None:
        if repaired.text == claim.text:
            return claim, None
        return repaired, Finding(claim.id, claim.text, problem, "repaired")
    return None, Finding(claim.id, claim.text, problem, outcome_of(claim))


def _given(claim: Claim, evidence: Evidence) -> JsonObject:
    messages = [message[:MESSAGE_LIMIT] for message in evidence.messages(claim.commits)[:MESSAGES]]
    return {"id": claim.id, "claim": claim.text, "messages": messages}
