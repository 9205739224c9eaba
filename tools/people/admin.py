"""Statistics and health of an organization."""

from datetime import datetime

from pydantic import Field

from stores.errors import EngrainError
from stores.indexer import State
from tools.app import App
from tools.frame.operation import Call, Operation, Request, Result, Route
from tools.runtime.health import stats
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION


class StatsRequest(Request):
    """Nothing has to be said."""


class Stats(Result):
    """Counts of what the caller may read."""

    entity_counts: dict[str, int] = Field(description="Current records by type.")
    total_entities: int
    relationship_counts: dict[str, int] = Field(
        description="Relations that hold now, by name; both ends are readable for the caller."
    )
    total_relationships: int


class OrganizationHealthRequest(Request):
    """Nothing has to be said."""


class IndexState(Result):
    """Progress of one index of the organization."""

    name: str = Field(description="`lexical`, `graph` or `vectors`; one that is not configured is not named.")
    state: State = Field(description="`ready` holds everything, `catching_up` and `rebuilding` will, `failed` not.")


class OrganizationHealth(Result):
    """Health of the organization's indexes."""

    status: str = Field(description="`healthy`, or `degraded` while an index is missing or incomplete.")
    server_name: str
    version: str
    started_at: datetime
    uptime_seconds: float
    graph_connected: bool = Field(description="Whether the graph can be walked now.")
    entity_counts: dict[str, int] = Field(description="Current records by type that the caller may read.")
    errors: list[str] = Field(description="One sentence for each index that is missing or incomplete.")
    indexes: list[IndexState] = Field(description="How far each index is with what was written in the organization.")


async def admin_stats(app: App, call: Call, _request: StatsRequest) -> Stats:
    """Count the records and the relations of the organization that the caller may read, by type and by name."""
    return Stats.model_validate(await in_thread(stats, app, call.caller.organization_id, call.caller.visible))


async def admin_health(app: App, call: Call, _request: OrganizationHealthRequest) -> OrganizationHealth:
    """Say whether the organization is served with all its indexes, and since when the server runs."""
    return await in_thread(_health, app, call)


def _health(app: App, call: Call) -> OrganizationHealth:
    organization = call.caller.organization_id
    try:
        with app.indexer.indexes(organization) as indexes:
            connected, missing = indexes.graph is not None, sorted(indexes.degraded)
            # No numbers: they would count records that the caller may not read.
            states = [IndexState(name=each.index, state=each.state) for each in app.indexer.status_of(organization)]
    except (EngrainError, TimeoutError):
        connected, missing, states = False, ["indexes"], []
    return OrganizationHealth(
        status="degraded" if missing else "healthy",
        server_name="engrain",
        version=VERSION,
        started_at=app.started_at,
        uptime_seconds=round((app.clock() - app.started_at).total_seconds(), 3),
        graph_connected=connected,
        entity_counts=app.ledger.records.entity_counts(organization, call.caller.visible),
        # Without the cause, which names files of the server.
        errors=[f"{name}: missing or incomplete at this moment." for name in missing],
        indexes=states,
    )


OPERATIONS = (
    Operation(admin_stats, route=Route("GET", "/api/admin/stats", tag="organizations")),
    Operation(admin_health, route=Route("GET", "/api/admin/health", tag="organizations")),
)
