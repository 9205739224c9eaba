"""Every operation of Engrain. Adding one is adding its entry here: nothing else knows its name."""

from types import MappingProxyType

from tools import (
    account,
    api_keys,
    audit,
    change,
    create,
    device,
    entities,
    explore,
    external,
    external_oidc,
    grants,
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
    team_members,
    teams,
    temporal,
)
from tools.operation import Operation

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
    *members.OPERATIONS,
    *invitations.OPERATIONS,
    *project_members.OPERATIONS,
    *teams.OPERATIONS,
    *team_members.OPERATIONS,
    *audit.OPERATIONS,
    *search.OPERATIONS,
    *create.OPERATIONS,
    *entities.OPERATIONS,
    *change.OPERATIONS,
    *explore.OPERATIONS,
    *neighbors.OPERATIONS,
    *slices.OPERATIONS,
    *temporal.OPERATIONS,
    *ingest.OPERATIONS,
    *logs.OPERATIONS,
)

by_name = MappingProxyType({operation.name: operation for operation in OPERATIONS})
