"""Let a language model word the notes; the critic checks its text against the commits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict, Field

from cli.release_notes.asking import Asker, JsonObject
from cli.release_notes.critic import Claim, Evidence, Finding, checked
from cli.release_notes.document.breaking import migration
from cli.release_notes.document.lists import NOT_ASKED_FOR, SAID_LIMIT, TEXT_LIMIT, highlight
from cli.release_notes.document.model import Block, Document, Section, Statement
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import bare, capitalised
from cli.release_notes.facts import Change, ReleaseFacts
from tools.text.plain import one_line, plain

COMMITS = 5
MESSAGE_LIMIT = 1_500
STEPS = 8
SENTENCES = 5
_MARKS = re.compile(r"^(?:[-*+•]|#{1,6}|\d{1,2}[.)])\s+")
_CITED = re.compile(r"\s*[(\[](?:(?:#\d+|`?[0-9a-f]{7,40}`?|c\d+)(?:,\s*)?)+[)\]]\.?$")
_TOKEN = re.compile(r"[\w.@/+-]{1,60}")
WORDED = frozenset({"highlights", "features", "improvements", "fixes", "other", "breaking", "migration"})
_LISTS = frozenset({"features", "improvements", "fixes", "other"})

STATEMENTS = """\
You write the release notes of {project} {version}. You are given changes, each with its id and the messages of its
commits. Word each change for its readers. {manner}

For each id give `text`: one line that says what changed, without the id, a commit hash, a heading or a link. Give
`more` only where the messages say more than the text: one or two sentences on what it means for users. Give `steps`
only for changes that are marked as breaking, and only where the messages say what users have to do: short imperatives.

Say nothing that the messages of this change do not say. Copy names of functions, flags, settings and files letter by
letter, in backticks, and numbers digit by digit: a statement with a name or a number that is not in its messages is
thrown away. Praise nothing. Write for every id.
{instructions}"""

SUMMARY = """\
You write the overview of the release notes of {project} {version}. You are given its changes, each with its id, in the
order of their weight. {manner}

Give `overview`: two to four sentences on what this release is about, each with the `ids` that it rests on. Give
`highlights`: the ids of the changes that readers should see first, best first, at most {highlights}. Give `left_out`:
the ids that the instructions below ask to leave out; without such an instruction, none.

Say nothing that the given changes do not say, count nothing, and praise nothing. Copy names and numbers letter by
letter: a sentence with a name or a number that its changes do not have is thrown away.
{instructions}"""

ASKED = """
The maintainer of the project asks for this, which goes before what is said above, except that nothing may be invented:
{asked}
"""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Worded(_Shape):
    id: str
    text: str
    more: str = Field("", description="One or two sentences, where the messages say more.")
    steps: list[str] = Field(default_factory=list, description="What users have to do, for what breaks.")


class WordedChanges(_Shape):
    statements: list[Worded]


class Sentence(_Shape):
    text: str
    ids: list[str]


class Summary(_Shape):
    overview: list[Sentence]
    highlights: list[str] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wording:
    """A model's wording.

    Attributes:
        claims: By id: `c3.text`, `c3.more`, `c3.step1`, `o1`.
        highlights: Ids of changes, best first; empty to keep the draft's.
        left_out: Ids that the instructions exclude.
        asked_for: Number of changes to word.
    """

    claims: Mapping[str, Claim] = field(default_factory=dict)
    highlights: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    asked_for: int = 0


async def word(
    asker: Asker, facts: ReleaseFacts, document: Document, preset: Preset, asked: str
) -> tuple[Wording, list[Finding]]:
    """Let a model word the changes of a draft; drop unsupported claims as findings.

    Raises:
        ReleaseNotesFailed: The model gave no usable answer.
    """
    evidence = Evidence(facts)
    changes = dict(_shown(facts, document))
    told = {
        "project": _token(facts.project_name) or "a project",
        "version": _token(facts.version) or "in a new version",
        "manner": preset.manner,
        "instructions": ASKED.format(asked=one_line(asked, 2_000)) if asked else "",
    }
    given = [_given(identity, change, facts) for identity, change in changes.items()]
    answers = await asker.each("Writing the statements", STATEMENTS.format(**told), given, WordedChanges)
    claims, findings = checked(list(_claims(answers, changes)), evidence)
    texts = {claim.id.removesuffix(".text"): claim.text for claim in claims if claim.id.endswith(".text")}
    summary = await _summarised(
        asker, SUMMARY.format(**told, highlights=preset.highlights), _for_summary(changes, texts, asker.characters)
    )
    sentences, more = checked(list(_sentences(summary, changes)), evidence)
    out = {each for each in summary.left_out if asked and each in changes and not changes[each].breaking}
    wording = Wording(
        {claim.id: claim for claim in (*claims, *sentences)},
        tuple(dict.fromkeys(each for each in summary.highlights if each in changes and each not in out))[
            : preset.highlights
        ],
        frozenset(out),
        len(changes),
    )
    return wording, [*findings, *more]


def worded(document: Document, facts: ReleaseFacts, wording: Wording, preset: Preset) -> Document:
    """Apply a model's wording to a draft; the rest stays."""
    changes = dict(_all(facts))
    sections = []
    for section in document.sections:
        if section.name == "overview":
            said = (claim for identity, claim in wording.claims.items() if identity.startswith("o"))
            sentences = tuple(Statement(claim.id, claim.text, claim.commits) for claim in said)
            sections.append(replace(section, blocks=(*section.blocks, *sentences)))
        elif section.name == "highlights" and wording.highlights:
            sections.append(_highlights(section, changes, wording, preset))
        elif section.name == "migration":
            told = [(each, _with_steps(each, change, wording)) for each, change in changes.items()]
            guide = migration(facts, told)
            sections.append(replace(guide, blocks=tuple(_blocks(guide, wording, preset))))
        elif section.name in WORDED:
            left = tuple(_blocks(section, wording, preset))
            empty = section.empty if left or not section.blocks else NOT_ASKED_FOR
            sections.append(replace(section, blocks=left, empty=empty))
        else:
            sections.append(section)
    return replace(document, sections=tuple(sections))


def change_of(identity: str) -> str:
    """Return the change of a statement or claim: `c3` of `h-c3` and `c3.text`."""
    return identity.rpartition("-")[2].partition(".")[0]


def _token(name: str | None) -> str:
    return name if name and _TOKEN.fullmatch(name) else ""


def _all(facts: ReleaseFacts) -> Iterator[tuple[str, Change]]:
    return ((f"c{number}", change) for number, change in enumerate(facts.changes))


def _shown(facts: ReleaseFacts, document: Document) -> Iterator[tuple[str, Change]]:
    shown = {
        change_of(each.id) for section in document.sections if section.name in WORDED for each in section.statements()
    }
    return ((identity, change) for identity, change in _all(facts) if identity in shown)


def _given(identity: str, change: Change, facts: ReleaseFacts) -> JsonObject:
    commits = [facts.commits[sha] for sha in change.commits[:COMMITS] if sha in facts.commits]
    given: dict[str, object] = {"id": identity, "kind": change.kind, "change": plain(change.text)}
    given |= {"part": plain(change.scope)} if change.scope else {}
    if change.breaking:
        given |= {"breaking": True, "breaks": plain(change.breaking_note or ""), "steps": plain(change.migration or "")}
    bodies = [plain(f"{commit.subject}\n\n{commit.body}".strip())[:MESSAGE_LIMIT] for commit in commits]
    details = plain(change.details)[:MESSAGE_LIMIT]
    if details and not any(details[:60] in body for body in bodies):
        given["details"] = details
    return {**given, "messages": bodies}


def _claims(answers: Iterable[WordedChanges], changes: Mapping[str, Change]) -> Iterator[Claim]:
    seen: set[str] = set()
    for statement in (each for answer in answers for each in answer.statements):
        identity = statement.id.strip()
        if identity not in changes or identity in seen:
            continue
        seen.add(identity)
        commits = changes[identity].commits
        text = capitalised(bare(_unmarked(statement.text, TEXT_LIMIT)))
        if text:
            yield Claim(f"{identity}.text", text, commits)
        more = _unmarked(statement.more, SAID_LIMIT * 2)
        if more and bare(more).casefold() != text.casefold():
            yield Claim(f"{identity}.more", more, commits)
        if changes[identity].breaking:
            steps = (_unmarked(step, TEXT_LIMIT) for step in statement.steps[:STEPS])
            yield from (Claim(f"{identity}.step{n}", step, commits) for n, step in enumerate(filter(None, steps)))


def _unmarked(text: str, limit: int) -> str:
    return one_line(_CITED.sub("", _MARKS.sub("", one_line(text))).replace("**", ""), limit)


def _for_summary(changes: Mapping[str, Change], texts: Mapping[str, str], characters: int) -> list[JsonObject]:
    given: list[JsonObject] = []
    for identity, change in changes.items():
        text = texts.get(identity) or one_line(change.text, TEXT_LIMIT)
        characters -= len(text) + 60
        if characters < 0 and given:
            break
        given.append({"id": identity, "kind": "breaking" if change.breaking else change.kind, "change": text})
    return given


async def _summarised(asker: Asker, instructions: str, given: Sequence[JsonObject]) -> Summary:
    if not given:
        return Summary(overview=[])
    return await asker.one("Writing the overview", instructions, given, Summary)


def _sentences(summary: Summary, changes: Mapping[str, Change]) -> Iterator[Claim]:
    for number, sentence in enumerate(summary.overview[:SENTENCES]):
        ids = dict.fromkeys(each for each in sentence.ids if each in changes)
        commits = tuple(dict.fromkeys(sha for each in ids for sha in changes[each].commits))
        if text := _unmarked(sentence.text, SAID_LIMIT * 2):
            yield Claim(f"o{number}", text, commits)


def _blocks(section: Section, wording: Wording, preset: Preset) -> Iterator[Block]:
    for block in section.blocks:
        if not isinstance(block, Statement):
            yield block
        elif not (section.name in _LISTS and block.id in wording.left_out):
            yield _reworded(section, block, wording, preset)


def _reworded(section: Section, statement: Statement, wording: Wording, preset: Preset) -> Statement:
    identity = change_of(statement.id)
    text = wording.claims.get(f"{identity}.text")
    more = wording.claims.get(f"{identity}.more")
    details = statement.details
    # What an author says of what breaks is not said otherwise.
    takes_more = section.name == "highlights" or (section.name == "breaking") == (not details)
    if more is not None and section.name != "migration" and takes_more and not preset.terse:
        details = more.text
    return replace(statement, text=text.text if text else statement.text, details=details)


def _with_steps(identity: str, change: Change, wording: Wording) -> Change:
    steps = [claim.text for each, claim in wording.claims.items() if each.startswith(f"{identity}.step")]
    return (
        replace(change, migration="\n".join(f"- {step}" for step in steps))
        if steps and not change.migration
        else change
    )


def _highlights(section: Section, changes: Mapping[str, Change], wording: Wording, preset: Preset) -> Section:
    chosen = [highlight(identity, changes[identity], preset) for identity in wording.highlights]
    return replace(section, blocks=tuple(_reworded(section, each, wording, preset) for each in chosen))
