"""The ledger: SQL behind one interface, on SQLite or PostgreSQL."""

from stores.credentials import AuthorizationCode, DeviceLogin, Grant, OAuthClient
from stores.ledger.account_tables import SLUG_LENGTH
from stores.ledger.accounts import CODEHOST
from stores.ledger.audit import AuditDraft, AuditEntry, AuditQuery, SubjectRole
from stores.ledger.credentials import TokenPair
from stores.ledger.documents import ChunkPlace
from stores.ledger.encoding import address_key
from stores.ledger.entities import Brief, Outline
from stores.ledger.facts import ENDED, WITHDRAWN, MayEnd, Recorded
from stores.ledger.feed import Snapshot
from stores.ledger.idempotency import Claim, Idempotency, KeyedRequest, Replay
from stores.ledger.jobs import JOB_LEASE_S, Jobs
from stores.ledger.ledger import Ledger
from stores.ledger.links import HistoryQuery, NamedRelation, Recalled, RelationQuery
from stores.ledger.listing import EntityQuery, SortKey
from stores.ledger.memories import CANDIDATE, CaptureQuery, Cited, CitedBy, Citing, ListedCapture, content_hash
from stores.ledger.organizations import PERSONAL_SLUG, Permit
from stores.ledger.projects import ProjectPermit
from stores.ledger.relations import SUPERSEDES, RelationDraft, between
from stores.ledger.row_cache import RecordStatus
from stores.ledger.sessions import DeviceRefusal
from stores.ledger.transaction import Transaction
from stores.ledger.workflow import ABOUT, BESIDE, DEPENDS, DERIVED_FROM, PRECEDES, TaskTally
