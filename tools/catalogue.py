"""The catalogue of all operations; REST, MCP and the reference are made from it."""

from types import MappingProxyType

from tools.entities import change, create, entities, ingest, resolve, slices
from tools.frame.operation import Operation
from tools.memory import captures, memories, remember, spaces
from tools.packs import context
from tools.people import (
    access_preview,
    account,
    admin,
    api_keys,
    audit,
    device,
    external,
    external_oidc,
    grants,
    invitations,
    membership,
    organizations,
    password_reset,
    profile,
    sessions,
    teams,
)
from tools.reflecting import promotion, promotion_drain, reflect
from tools.relations import end_relation, explore, neighbors, relations, temporal
from tools.runtime import logs
from tools.search import citations, search
from tools.synthesis import operations as synthesis
from tools.work import epics, manage, notes, project_metrics, task_moves, tasks

OPERATIONS: tuple[Operation, ...] = (
    *account.OPERATIONS,
    *api_keys.OPERATIONS,
    *profile.OPERATIONS,
    *sessions.OPERATIONS,
    *device.OPERATIONS,
    *grants.OPERATIONS,
    *external.OPERATIONS,
    *external_oidc.OPERATIONS,
    *password_reset.OPERATIONS,
    *organizations.OPERATIONS,
    *membership.OPERATIONS,
    *invitations.OPERATIONS,
    *teams.OPERATIONS,
    *audit.OPERATIONS,
    *admin.OPERATIONS,
    *search.OPERATIONS,
    *context.OPERATIONS,
    *citations.OPERATIONS,
    *create.OPERATIONS,
    *entities.OPERATIONS,
    *change.OPERATIONS,
    *tasks.OPERATIONS,
    *task_moves.OPERATIONS,
    *notes.OPERATIONS,
    *epics.OPERATIONS,
    *manage.OPERATIONS,
    *explore.OPERATIONS,
    *neighbors.OPERATIONS,
    *slices.OPERATIONS,
    *resolve.OPERATIONS,
    *project_metrics.OPERATIONS,
    *relations.OPERATIONS,
    *end_relation.OPERATIONS,
    *temporal.OPERATIONS,
    *ingest.OPERATIONS,
    *reflect.OPERATIONS,
    *synthesis.OPERATIONS,
    *memories.OPERATIONS,
    *remember.OPERATIONS,
    *promotion.OPERATIONS,
    *promotion_drain.OPERATIONS,
    *captures.OPERATIONS,
    *spaces.OPERATIONS,
    *access_preview.OPERATIONS,
    *logs.OPERATIONS,
)

by_name = MappingProxyType({operation.name: operation for operation in OPERATIONS})
