"""The value types that the stores exchange: what the ledger keeps and the indexes follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from stores.indexed_text import indexed_parts
from stores.space_access import NO_SPACES, SpaceAccess

JsonObject = dict[str, JsonValue]

ORGANIZATION = "organization"
"""The visibility key of what every member of the organization may read."""

Kind = Literal["entity", "relation", "capture"]
"""Kind of a changed record. A capture is the provenance and state of a raw memory."""
ReviewState = Literal["pending", "promoted", "archived", "deferred"]
REVIEW_STATES: tuple[ReviewState, ...] = get_args(ReviewState)
RAW_MEMORY = "raw_memory"
"""The type of the entity that holds the text of a raw memory."""
ChangeOperation = Literal["create", "update", "delete"]
Role = Literal["owner", "admin", "member", "viewer"]
GIVEN_BY: Mapping[Role, frozenset[Role]] = {
    "owner": frozenset({"owner", "admin", "member", "viewer"}),
    "admin": frozenset({"admin", "member", "viewer"}),
}
"""Roles that each role may give and take; roles that are missing give none."""
ProjectRole = Literal["project_viewer", "project_contributor", "project_maintainer", "project_owner"]
PROJECT_ROLES: tuple[ProjectRole, ...] = get_args(ProjectRole)
"""From the least to the most."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One typed record of the graph. A chunk of an ingested document is an entity of type `document`."""

    organization_id: str
    id: str
    entity_type: str
    name: str
    description: str
    content: str
    category: str | None
    languages: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: JsonObject
    source_file: str | None
    visibility: str
    """`organization`, `private:<user>`, `project:<id>`; what the indexes filter by."""
    memory_scope: str
    scope_key: str | None
    project_id: str | None
    principal_id: str
    """The user who wrote it."""
    revision: int
    created_at: datetime
    updated_at: datetime
    source_id: str | None = None
    """For a chunk: the `source` entity that it came from."""


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """Entity before the ledger adds revision and times."""

    id: str
    entity_type: str
    name: str
    visibility: str
    memory_scope: str
    description: str = ""
    content: str = ""
    category: str | None = None
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    source_file: str | None = None
    scope_key: str | None = None
    project_id: str | None = None
    source_id: str | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """Origin and review state of a raw memory."""

    source_id: str
    """Provenance id from the sender; by default the memory's own id."""
    capture_surface: str
    captured_at: datetime
    provenance: JsonObject
    agent_id: str | None
    """Owner of the diary."""
    content_hash: str
    """SHA-256 of the text, in hexadecimal digits."""
    review_state: ReviewState = "pending"
    entity_id: str | None = None
    """The entity that was made of it."""
    candidate: JsonObject | None = None
    """Reflection's proposal while it waits for a review; None for verbatim memories."""


@dataclass(frozen=True, slots=True)
class RawMemory:
    """Verbatim text: an entity of type `raw_memory` and its capture."""

    entity: Entity
    capture: Capture


@dataclass(frozen=True, slots=True)
class Relation:
    """A fact between two entities, with the time we knew it and the time it was true."""

    organization_id: str
    id: str
    name: str
    """The relationship type, upper case: `RELATED_TO`, `SUPERSEDES`, …"""
    source_id: str
    target_id: str
    fact: str
    created_at: datetime
    expired_at: datetime | None
    valid_at: datetime
    invalid_at: datetime | None
    visibility: str
    principal_id: str
    provenance: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a source."""

    id: str
    source_id: str
    url: str
    title: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Place of a `document` entity in its document."""

    id: str
    """The id of the entity that holds the text: a UUID."""
    document_id: str
    source_id: str
    chunk_index: int
    chunk_type: str
    heading_path: tuple[str, ...]


class Change(NamedTuple):
    """One row of the change feed. It never carries text."""

    organization_id: str
    sequence: int
    kind: Kind
    record_id: str
    operation: ChangeOperation
    revision: int
    entity_type: str
    """For a relation: its name."""
    visibility: str
    actor: str
    batch: str
    """The same for all rows of one transaction; tells a restored ledger from the one an index followed."""
    deferred: bool
    """Written in bulk: interactive writes are embedded first."""
    fields: JsonObject
    """Workflow fields for events: `mode` (`sync`, `async`), `status`, …"""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the change feed of one ledger."""

    epoch: str
    sequence: int
    batch: str
    """The `Change.batch` of that sequence; empty at 0."""


@dataclass(frozen=True, slots=True)
class User:
    """A person with an account."""

    id: str
    email: str
    name: str
    password_hash: str | None
    is_admin: bool
    avatar_url: str | None
    codehost_id: int | None
    created_at: datetime
    bio: str | None = None
    email_verified_at: datetime | None = None
    """When the address was proved to be the user's; None while it never was."""


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """An account at a sign-in provider that stands for a user here."""

    provider: str
    subject: str
    """The provider's id of the account, unique and never reused."""
    user_id: str
    email: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Organization:
    """A tenant."""

    id: str
    name: str
    slug: str
    is_personal: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """One sign-in: a family of refresh tokens of which the latest is valid."""

    id: str
    user_id: str
    organization_id: str
    refresh_id: str
    """The `jti` of the valid refresh token."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    provider: str | None = None
    """The sign-in provider that vouched for the user; None for a password."""
    user_agent: str | None = None
    ip_address: str | None = None
    last_used_at: datetime | None = None
    """When its tokens were last rotated; None before the first time."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything a request needs to know about its session's user, read in one query."""

    user: User
    organization: Organization
    role: Role
    session: Session | None


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """Visibility of a project's records. Outlives the project entity, because its tasks do."""

    project_id: str
    visibility: Literal["org", "private"]
    creator_id: str
    """Owns the project without a row; empty once the creator has left the organization."""


@dataclass(frozen=True, slots=True)
class Access:
    """Grants of a member besides the organization role, and every project of the organization."""

    projects: tuple[ProjectAccess, ...]
    roles: Mapping[str, ProjectRole]
    """Greatest role by project, from direct grants, teams and creation."""
    team_ids: frozenset[str]
    spaces: SpaceAccess = NO_SPACES


@dataclass(frozen=True, slots=True)
class Member:
    """A user in an organization or a team."""

    user: User
    role: Role
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectMember:
    """A user with a role of its own in a project."""

    user: User
    role: ProjectRole
    joined_at: datetime | None
    """None for the creator."""


@dataclass(frozen=True, slots=True)
class Team:
    """Members of an organization who get roles in projects together."""

    organization_id: str
    id: str
    name: str
    slug: str
    description: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """An offer of membership to whoever owns an e-mail address."""

    id: str
    organization_id: str
    email: str
    role: Role
    invited_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A credential of a user in one organization, without its secret. Empty narrowings narrow nothing."""

    id: str
    organization_id: str
    user_id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    project_ids: tuple[str, ...]
    memory_space_ids: tuple[str, ...]
    live: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """To the minute."""


Facet = Literal["entity_type", "project_id", "category", "status", "source_id", "language", "assignee"]


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Prefilter of every index; never applied after the top k."""

    visibility: frozenset[str]
    any_of: Mapping[Facet, frozenset[str]] = field(default_factory=dict)
    """For each facet the accepted values, in lower case; a record must match all facets."""
    updated_since: datetime | None = None
    updated_until: datetime | None = None
    """Inclusive, as `updated_since` is."""
    ids: frozenset[str] | None = None
    """These records alone."""


def facets(entity: Entity) -> dict[Facet, tuple[str, ...]]:
    """The lower-cased facet values of an entity, as every index stores them."""
    assignees = entity.metadata.get("assignees")
    single: dict[Facet, JsonValue] = {
        "entity_type": entity.entity_type,
        "project_id": entity.project_id,
        "category": entity.category,
        "status": entity.metadata.get("status"),
        "source_id": entity.source_id,
    }
    found: dict[Facet, tuple[str, ...]] = {
        name: (value.lower(),) for name, value in single.items() if isinstance(value, str) and value
    }
    found["language"] = tuple(language.lower() for language in entity.languages)
    if isinstance(assignees, list):
        found["assignee"] = tuple(name.lower() for name in assignees if isinstance(name, str))
    return found


def searchable_text(entity: Entity) -> str:
    """The text that is embedded: name, description, content and retrieval keys, each once, but never the tags."""
    return "\n".join(indexed_parts(entity))


def matches(entity: Entity, wanted: IndexFilter) -> bool:
    """Tell whether an entity passes a filter that an index applied to an earlier state of it."""
    if entity.visibility not in wanted.visibility:
        return False
    if wanted.updated_since is not None and entity.updated_at < wanted.updated_since:
        return False
    if wanted.updated_until is not None and entity.updated_at > wanted.updated_until:
        return False
    if wanted.ids is not None and entity.id not in wanted.ids:
        return False
    found = facets(entity)
    return all(accepted.intersection(found.get(facet, ())) for facet, accepted in wanted.any_of.items())
