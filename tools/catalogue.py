"""The catalogue of all operations; REST, MCP and the reference are made from it."""

from types import MappingProxyType

from tools.crawling import operations as crawling
from tools.entities import change, create, documents, entities
from tools.experience import operations as experience
from tools.frame.operation import ENTRIES, Operation
from tools.governance import corrections, inspection, review, sharing
from tools.imports import exporting
from tools.imports import operations as imports
from tools.jobs import status
from tools.memory import access_preview, captures, memories, remember, spaces
from tools.packs import context
from tools.people import (
    account,
    api_keys,
    audit,
    device,
    external,
    invitations,
    membership,
    organizations,
    sessions,
    teams,
)
from tools.reflecting import promotion, promotion_drain, reflect
from tools.relations import explore, relations, temporal
from tools.runtime import logs
from tools.search import exposure, search
from tools.synthesis import operations as synthesis
from tools.work import manage, notes, project_metrics, tasks

_MODULES = (
    account, api_keys, sessions, device, external, organizations, membership, invitations, teams, audit, search,
    context, exposure, create, entities, change, tasks, notes, manage, explore,
    documents, project_metrics, relations, temporal, crawling, reflect, synthesis, memories,
    remember, promotion, promotion_drain, captures, experience, inspection, corrections,
    sharing, review, spaces, access_preview, imports, exporting, status, logs,
)  # fmt: skip
OPERATIONS: tuple[Operation, ...] = tuple(each for module in _MODULES for each in ENTRIES[module.__name__])

by_name = MappingProxyType({operation.name: operation for operation in OPERATIONS})
