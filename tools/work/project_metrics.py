"""Project metrics: task counts and completions per day."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta

from pydantic import Field

from auth.policy import NoProject, may_read
from tools.app import App
from tools.frame.operation import Call, Request, Result, Route, entry
from tools.records.entity_models import EntityId

TREND_DAYS = 30
RECENT = timedelta(days=7)


class ProjectMetricsRequest(Request):
    """A project to measure."""

    project_id: EntityId = Field(description="The project's id.")


class StatusDistribution(Result):
    """Number of tasks by status."""

    backlog: int = 0
    todo: int = 0
    doing: int = 0
    blocked: int = 0
    review: int = 0
    done: int = 0


class PriorityDistribution(Result):
    """Number of tasks by priority."""

    critical: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0
    someday: int = 0


class AssigneeMetrics(Result):
    """Task counts of one assignee; a task counts for each of its assignees."""

    name: str
    total: int
    completed: int
    in_progress: int = Field(description="Tasks in status `doing`.")


class TrendPoint(Result):
    """One day, in UTC."""

    date: date
    value: int


class ProjectMetrics(Result):
    """Metrics of the tasks of a project that the caller may read. Present counts leave archived tasks out."""

    project_id: str
    project_name: str
    total_tasks: int
    status_distribution: StatusDistribution
    priority_distribution: PriorityDistribution
    completion_rate: float = Field(description="Tasks that are done, in percent of all, to one decimal; 0 of none.")
    assignees: list[AssigneeMetrics] = Field(description="Those with the most tasks first, at most 200.")
    tasks_created_last_7d: int = Field(description="Within 7 times 24 hours, those archived since among them.")
    tasks_completed_last_7d: int = Field(description="Likewise, by the last time that each was completed.")
    velocity_trend: list[TrendPoint] = Field(
        description="Tasks completed per day of UTC, the last 30 days with today, oldest first; days without are 0. "
        "A task counts on the day of its last completion while it is done, or archived as done."
    )


class ProjectMetricsView(Result):
    """The metrics of one project."""

    metrics: ProjectMetrics


@entry(Route("GET", "/api/metrics/projects/{project_id}", tag="projects", errors=(404,)))
def project_metrics(app: App, call: Call, request: ProjectMetricsRequest) -> ProjectMetricsView:
    """Count the tasks of a project by status, priority and assignee, and completions on each of the last 30 days.

    Only tasks that the caller may read count.
    """
    project_id = request.project_id
    now = app.clock()
    caller, organization = call.caller, call.caller.organization_id
    project = app.ledger.records.entity(organization, project_id)
    if project is None or project.entity_type != "project" or not may_read(caller, project.visibility):
        raise NoProject(project_id)
    days = [now.astimezone(UTC).date() - timedelta(days=ago) for ago in reversed(range(TREND_DAYS))]
    since, recent = datetime.combine(days[0], time.min, UTC), now - RECENT
    tally = app.ledger.records.task_tally(organization, project_id, caller.visible, since=since)
    completed = Counter(moment.date() for moment in tally.completed)
    total, done = sum(tally.by_status.values()), tally.by_status.get("done", 0)
    metrics = ProjectMetrics(
        project_id=project.id,
        project_name=project.name,
        total_tasks=total,
        status_distribution=StatusDistribution(**tally.by_status),
        priority_distribution=PriorityDistribution(**tally.by_priority),
        completion_rate=round(100 * done / total, 1) if total else 0.0,
        assignees=[
            AssigneeMetrics.of(
                each, completed=each.by_status.get("done", 0), in_progress=each.by_status.get("doing", 0)
            )
            for each in tally.assignees
        ],
        tasks_created_last_7d=sum(moment > recent for moment in tally.created),
        tasks_completed_last_7d=sum(moment > recent for moment in tally.completed),
        velocity_trend=[TrendPoint(date=day, value=completed[day]) for day in days],
    )
    return ProjectMetricsView(metrics=metrics)
