"""Every operation of Engrain. Adding one is adding its entry here: nothing else knows its name."""

from types import MappingProxyType

from tools import (
    account,
    api_keys,
    change,
    create,
    entities,
    explore,
    ingest,
    invitations,
    logs,
    members,
    neighbors,
    organizations,
    password_reset,
    profile,
    project_members,
    search,
    sessions,
    slices,
)
from tools.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *account.OPERATIONS,
    *api_keys.OPERATIONS,
    *profile.OPERATIONS,
    *sessions.OPERATIONS,
    *password_reset.OPERATIONS,
    *organizations.OPERATIONS,
    *members.OPERATIONS,
    *invitations.OPERATIONS,
    *project_members.OPERATIONS,
    *search.OPERATIONS,
    *create.OPERATIONS,
    *entities.OPERATIONS,
    *change.OPERATIONS,
    *explore.OPERATIONS,
    *neighbors.OPERATIONS,
    *slices.OPERATIONS,
    *ingest.OPERATIONS,
    *logs.OPERATIONS,
)

by_name = MappingProxyType({operation.name: operation for operation in OPERATIONS})
