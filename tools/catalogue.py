"""Every operation of Engrain. Adding one is adding its entry here: nothing else knows its name."""

from types import MappingProxyType

from tools import (
    account,
    change,
    create,
    entities,
    explore,
    ingest,
    logs,
    members,
    neighbors,
    organizations,
    profile,
    search,
    sessions,
    slices,
)
from tools.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *account.OPERATIONS,
    *profile.OPERATIONS,
    *sessions.OPERATIONS,
    *organizations.OPERATIONS,
    *members.OPERATIONS,
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
