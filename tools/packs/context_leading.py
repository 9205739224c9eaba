"""Current tasks of a project, which lead its context packs. Blocks."""

from collections.abc import Mapping

from auth.principal import Principal
from stores.ledger import EntityQuery
from tools.app import App
from tools.packs.selection import Option

UNDER_WAY = ("doing", "blocked", "review")
LEADING = 5
LOOKED_AT = 50


def leading_tasks(app: App, caller: Principal, project_id: str, scores: Mapping[str, float]) -> list[Option]:
    """Return tasks under way by score, state and last change."""
    organization, visible = caller.organization_id, caller.visible
    query = EntityQuery(
        visibility=visible, types=("task",), statuses=UNDER_WAY, project_ids=(project_id,), limit=LOOKED_AT
    )
    tasks, _ = app.ledger.records.list_entities(organization, query)
    retired = app.ledger.records.superseded(organization, [task.id for task in tasks], visibility=visible)
    options = [
        Option(task.id, task.entity_type, str(task.metadata.get("status")), scores.get(task.id, 0.0), is_under_way=True)
        for task in tasks
        if task.id not in retired
    ]
    # Stable sort: equal ones stay in the order of their last change.
    return sorted(options, key=lambda option: (-option.score, UNDER_WAY.index(option.status)))[:LEADING]
