"""Value types that the stores exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from pydantic import JsonValue

from stores.indexed_text import indexed_parts
from stores.spaces import NO_SPACES, SpaceAccess

JsonObject = dict[str, JsonValue]

ORGANIZATION = "organization"
"""Visibility key: every member may read."""
UNAVAILABLE = "unavailable:"
"""Prefix of unreadable visibility keys: records that their source does not report any more."""
WITHHELD = "withheld:"
"""Prefix of visibility keys of records that a correction took out of every read but inspection."""

Kind = Literal["entity", "relation", "capture"]
"""A capture is the provenance and state of a raw memory."""
ReviewState = Literal["pending", "promoted", "archived", "deferred"]
RAW_MEMORY = "raw_memory"
ChangeOperation = Literal["create", "update", "delete"]
Role = Literal["owner", "admin", "member", "viewer"]
GIVEN_BY: Mapping[Role, frozenset[Role]] = {
    "owner": frozenset({"owner", "admin", "member", "viewer"}),
    "admin": frozenset({"admin", "member", "viewer"}),
}
"""Roles that each role may give and take."""
ProjectRole = Literal["project_viewer", "project_contributor", "project_maintainer", "project_owner"]
PROJECT_ROLES: tuple[ProjectRole, ...] = get_args(ProjectRole)


@dataclass(frozen=True, slots=True)
class Entity:
    """Record of the graph. A chunk of a document is an entity of type `document`."""

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
    """`organization`, `private:<user>`, `project:<id>`; the indexes filter by it."""
    memory_scope: str
    scope_key: str | None
    project_id: str | None
    principal_id: str
    revision: int
    created_at: datetime
    updated_at: datetime
    source_id: str | None = None
    """The `source` entity of a chunk."""

    @property
    def place(self) -> dict[str, Any]:
        """The fields that say who may read it."""
        return {name: getattr(self, name) for name in ("visibility", "memory_scope", "scope_key", "project_id")}


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
    """From the sender; by default the memory's own id."""
    capture_surface: str
    captured_at: datetime
    provenance: JsonObject
    agent_id: str | None
    """Owner of the diary."""
    content_hash: str
    """SHA-256 in hexadecimal digits."""
    review_state: ReviewState = "pending"
    entity_id: str | None = None
    """Entity that was made of it."""
    candidate: JsonObject | None = None
    """Reflection's proposal while it waits for a review."""
    lifecycle: JsonObject | None = None
    """State, flags and corrections; None: active and never corrected."""


@dataclass(frozen=True, slots=True)
class RawMemory:
    """Verbatim text: an entity of type `raw_memory` and its capture."""

    entity: Entity
    capture: Capture


@dataclass(frozen=True, slots=True)
class Relation:
    """Fact between two entities, with the time we knew it and the time it was true."""

    organization_id: str
    id: str
    name: str
    """Upper case: `RELATED_TO`, `SUPERSEDES`, …"""
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
    """Page of a source."""

    id: str
    source_id: str
    url: str
    title: str
    content_hash: str
    fetched: JsonObject | None = None
    """`depth`, and once a crawl has ended, `etag`, `modified` and a stamp of its settings."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Place of a `document` entity in its document."""

    id: str
    """UUID of the entity that holds the text."""
    document_id: str
    source_id: str
    chunk_index: int
    chunk_type: str
    heading_path: tuple[str, ...]


class Change(NamedTuple):
    """Row of the change feed, without text."""

    organization_id: str
    sequence: int
    kind: Kind
    record_id: str
    operation: ChangeOperation
    revision: int
    entity_type: str
    """The name, for a relation."""
    visibility: str
    actor: str
    batch: str
    """One per transaction; tells a restored ledger from the one an index followed."""
    deferred: bool
    """Bulk write: interactive ones are embedded first."""
    fields: JsonObject
    """For events: `mode` (`sync`, `async`), `status`, …"""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Position:
    """Place in the change feed of one ledger."""

    epoch: str
    sequence: int
    batch: str
    """`Change.batch` of that sequence; empty at 0."""


@dataclass(frozen=True, slots=True)
class User:
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
    """None while the address was never proved."""


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """Account at a sign-in provider that stands for a user."""

    provider: str
    subject: str
    """The provider's id of the account, never reused."""
    user_id: str
    email: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Organization:
    id: str
    name: str
    slug: str
    is_personal: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """Sign-in: a family of refresh tokens of which the latest is valid."""

    id: str
    user_id: str
    organization_id: str
    refresh_id: str
    """`jti` of the valid refresh token."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    provider: str | None = None
    """None for a password."""
    user_agent: str | None = None
    ip_address: str | None = None
    last_used_at: datetime | None = None
    """Last rotation of its tokens."""


@dataclass(frozen=True, slots=True)
class Identity:
    """User, organization, role and session of a request, from one query."""

    user: User
    organization: Organization
    role: Role
    session: Session | None


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """Visibility of a project's records. Outlives the project, because its tasks do."""

    project_id: str
    visibility: Literal["org", "private"]
    creator_id: str
    """Owns the project without a row; empty once the creator has left."""


@dataclass(frozen=True, slots=True)
class Access:
    """Grants besides the organization role, and every project."""

    projects: tuple[ProjectAccess, ...]
    roles: Mapping[str, ProjectRole]
    """Greatest role by project, from direct grants, teams and creation."""
    team_ids: frozenset[str]
    spaces: SpaceAccess = NO_SPACES


@dataclass(frozen=True, slots=True)
class Member:
    user: User
    role: Role
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectMember:
    user: User
    role: ProjectRole
    joined_at: datetime | None
    """None for the creator."""


@dataclass(frozen=True, slots=True)
class Team:
    """Members who get roles in projects together."""

    organization_id: str
    id: str
    name: str
    slug: str
    description: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """Offer of membership to the owner of an e-mail address."""

    id: str
    organization_id: str
    email: str
    role: Role
    invited_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Credential without its secret. Empty narrowings narrow nothing."""

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
    """Accepted values in lower case; a record must match all facets."""
    updated_since: datetime | None = None
    updated_until: datetime | None = None
    """Inclusive, as `updated_since` is."""
    ids: frozenset[str] | None = None


def facets(entity: Entity) -> dict[Facet, tuple[str, ...]]:
    """Return the lower-cased facet values, as every index stores them."""
    assignees = entity.metadata.get("assignees")
    plain: tuple[Facet, ...] = ("entity_type", "project_id", "category", "source_id")
    single: dict[Facet, JsonValue] = {name: getattr(entity, name) for name in plain}
    single["status"] = entity.metadata.get("status")
    found: dict[Facet, tuple[str, ...]] = {
        name: (value.lower(),) for name, value in single.items() if isinstance(value, str) and value
    }
    found["language"] = tuple(language.lower() for language in entity.languages)
    if isinstance(assignees, list):
        found["assignee"] = tuple(name.lower() for name in assignees if isinstance(name, str))
    return found


def source_ids(entity: Entity) -> list[str]:
    """Return the ids of the records that an entity was made of, as its metadata names them."""
    given = [entity.metadata.get(name) for name in ("raw_memory_id", "raw_source_ids", "derived_from")]
    named = [each for value in given for each in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(each for each in named if isinstance(each, str) and each))


def searchable_text(entity: Entity) -> str:
    """Return the text that is embedded: name, description, content, retrieval keys."""
    return "\n".join(indexed_parts(entity))


def matches(entity: Entity, wanted: IndexFilter) -> bool:
    """Return whether an entity still passes a filter that an index applied."""
    if entity.visibility not in wanted.visibility or (wanted.ids is not None and entity.id not in wanted.ids):
        return False
    since, until = wanted.updated_since, wanted.updated_until
    if (since and entity.updated_at < since) or (until and entity.updated_at > until):
        return False
    found = facets(entity)
    return all(accepted.intersection(found.get(facet, ())) for facet, accepted in wanted.any_of.items())
