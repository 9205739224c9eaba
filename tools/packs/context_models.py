"""Wire shapes of context packs."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from stores.errors import ValidationFailed
from tools.frame.json_values import StoredJson
from tools.frame.operation import Filters, Request, Result
from tools.packs.facets import LIMITS, Facet, Intent, Layer, facets_of
from tools.records.entity_models import EntityId, Label
from tools.retrieval.plan import Mode
from tools.search.answers import SearchResponse
from tools.search.exposure import UsageExposure
from tools.search.search import QUERY_LIMIT, SearchType

Direction = Literal["outgoing", "incoming"]


def _no_longer_accurate(mode: object) -> object:
    if mode == "accurate":
        raise ValidationFailed(
            "The retrieval mode `accurate` was removed in release 1.4.",
            remediation="Send evidence.retrieval_mode `fast`, which answers like `accurate`, or leave it out; "
            "max_results_per_source and max_planned_queries have no effect any more and can be left out, too.",
            details={"field": "body.evidence.retrieval_mode", "expected": "fast or naive"},
        )
    return mode


class EvidenceRequest(Request):
    """Evidence to search for beside the pack."""

    types: Annotated[list[SearchType], Field(max_length=50)] = Field(
        ["session"], description="Types of the evidence: any entity type, `document`, `raw_memory`."
    )
    limit: int = Field(24, ge=1, le=50, description="Most results.")
    content_max_chars: int = Field(500, ge=0, le=50_000, description="Characters of content per result.")
    include_retrieval_diagnostics: bool = Field(False, description="Say how each result was found.")
    retrieval_mode: Annotated[Mode, BeforeValidator(_no_longer_accurate)] = Field(
        "fast",
        description="`fast`, or as a control for comparisons `naive`: words and meaning joined by rank alone, for the "
        "sections of the pack as well.",
    )
    reserve_distilled_notes: bool = Field(True, description="Reserve places for distilled notes; never in `naive`.")


class ContextRequest(Filters):
    """A goal for which to compile a context pack."""

    goal: Annotated[str, StringConstraints(min_length=1, max_length=QUERY_LIMIT, pattern=r"\S")] = Field(
        description="Task that you are about to begin, in plain words."
    )
    intent: Intent = Field("build", description="Kind of work; it decides which facets are in the pack.")
    layer: Layer = Field("recall", description="Most items: `wake` 8 to begin with, `recall` 24, `deep_search` 50.")
    domain: Label | None = Field(None, description="The field that the goal is about; it joins the words to look for.")
    project: EntityId | None = Field(
        None, description="Id of the project that it is for: its records, and those that belong to no project."
    )
    agent_id: Label | None = Field(None, description="Name of the calling agent, for the exposure log.")
    limit: int = Field(24, ge=1, le=50, description="Most items; the layer may allow fewer.")
    min_score: float = Field(0, ge=0, le=1, description="Least score of an item.")
    include_related: bool = Field(True, description="Name the records linked to each item.")
    related_limit: int = Field(3, ge=0, le=5, description="Most related records of an item.")
    audit: bool = Field(False, description="Add all metadata to items, and how they were found.")
    record_exposure: bool = Field(True, description="Record what was returned.")
    markdown_token_budget: int | None = Field(
        4000, ge=100, le=32_000, description="Most tokens, of four characters, of the text; null for a short one."
    )
    evidence: EvidenceRequest | None = Field(None, description="Search for evidence as well.")
    is_steady: ClassVar[bool] = False
    """True to rank without recency and citations."""

    @property
    def query(self) -> str:
        domain = (self.domain or "").strip()
        return self.goal if domain.lower() in self.goal.lower() else f"{self.goal}\n{domain}"

    @property
    def most(self) -> int:
        return min(self.limit, LIMITS[self.layer])

    @property
    def led_by(self) -> str | None:
        return self.project

    @property
    def facets(self) -> tuple[Facet, ...]:
        return facets_of(self.intent, self.layer)


class Quality(Result):
    """Origin and date of an item."""

    origin: Literal["graph", "document"]
    source: str | None
    url: str | None
    created_at: datetime
    updated_at: datetime
    valid_at: str | None = Field(description="When it became true, if its metadata says so.")
    project_id: str | None


class RelatedItem(Result):
    """A record that is linked to an item."""

    id: str
    type: str
    name: str
    relationship: str
    direction: Direction
    distance: Literal[1] = 1
    content: str | None
    metadata: StoredJson


class PackItem(Result):
    """One record of a pack."""

    id: str
    type: str
    name: str
    content: str = Field(description="At most 1,200 characters, with what matches the goal in them.")
    score: float
    facet: Facet
    reason: str = Field(description="Why it is here, in one sentence.")
    source: str | None
    quality: Quality
    metadata: StoredJson
    related: list[RelatedItem]

    @property
    def heading(self) -> str:
        """Headings above the text, else the name."""
        path = self.metadata.get("heading_path")
        return " > ".join(map(str, path)) if isinstance(path, list) and path else self.name


class PackSection(Result):
    """The items of one facet, best first."""

    facet: Facet
    title: str
    items: list[PackItem]


class Evidence(SearchResponse):
    """A search beside the pack."""

    retrieval_arm: Literal["naive"] | None = Field(None, description="`naive` where that was asked for.")


class AlsoKnown(Result):
    """A strong hit that no section shows."""

    id: str
    type: str
    name: str
    score: float


class ContextPack(Result):
    """Knowledge compiled for a goal."""

    goal: str
    intent: Intent
    layer: Layer
    query: str = Field(description="Text of the search.")
    domain: str | None
    project: str | None
    sections: list[PackSection] = Field(description="In the order of the intent's facets, without empty ones.")
    also_known: list[AlsoKnown] = Field(description="Strong hits that no section shows, best first.")
    total_items: int
    usage_metadata: dict[str, UsageExposure] = Field(description="`usage_exposure`, where something was recorded.")
    usage_hint: str
    markdown: str = Field(description="The pack as a text within the token budget.")
    evidence: Evidence | None
    degraded: dict[str, str] = Field(default_factory=dict, description="Failed parts of the search, with reasons.")
    pending_records: int = Field(0, description="Readable records that are not in the indexes yet, up to 1,000.")
