"""Verbs on memories and records. The names of their parameters are those of the tools' arguments."""

from typing import Annotated

import typer

from cli.verbs.options import (
    JsonOption,
    LimitOption,
    ProjectOption,
    ScopeKeyOption,
    ScopeOption,
    TagOption,
    TypeOption,
    UrlOption,
    run,
)

QueryArgument = Annotated[str, typer.Argument(help="Plain words; identifiers and 'quoted phrases' work, too.")]


def remember(  # noqa: PLR0913 - a parameter for each flag
    content: Annotated[str | None, typer.Argument(help="The words; - or nothing reads standard input.")] = None,
    name: Annotated[str | None, typer.Option("--title", help="One line that says what it is; else the first.")] = None,
    kind: Annotated[
        str, typer.Option("--kind", "--type", "-t", help="episode, decision, rule, procedure, pattern, plan, idea, …")
    ] = "episode",
    tags: TagOption = None,
    project: ProjectOption = None,
    memory_scope: ScopeOption = None,
    scope_key: ScopeKeyOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Keep words to the letter: for the members of the project, or for you alone without one."""
    run("remember", locals())


def search(  # noqa: PLR0913 - as above
    query: QueryArgument,
    project: ProjectOption = None,
    types: TypeOption = None,
    tags: TagOption = None,
    since: Annotated[str | None, typer.Option(help="Only what changed since: an ISO date, or 7d.")] = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Search everything that you may read by meaning, words and relations; best hits first."""
    run("search", locals())


def recall(  # noqa: PLR0913 - as above
    query: QueryArgument,
    project: ProjectOption = None,
    memory_scope: ScopeOption = None,
    scope_key: ScopeKeyOption = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Find raw memories, to the letter, in one scope: that of the project, else your own."""
    run("recall", locals())


def context(  # noqa: PLR0913 - as above
    goal: Annotated[str, typer.Argument(help="Your next piece of work, in plain words.")],
    markdown_token_budget: Annotated[
        int | None, typer.Option("--tokens", min=100, help="Most tokens, of four characters; 4000 by default.")
    ] = None,
    intent: Annotated[
        str | None, typer.Option(help="build, plan, ideate, research, debug, decide, learn or general.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="wake (at most 8 items), recall (24) or deep_search (50).")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Compile a context pack for a goal: work under way, decisions, rules, pitfalls, prior work."""
    run("context", locals())


def reflect(  # noqa: PLR0913 - as above
    content: Annotated[str, typer.Argument(metavar="FILE", help="A file with notes; - reads standard input.")],
    persist: Annotated[bool, typer.Option("--persist", help="Keep what is found as records.")] = False,
    persist_review: Annotated[
        bool, typer.Option("--review", help="Put what is found into the review queue instead.")
    ] = False,
    source_title: Annotated[str | None, typer.Option("--title", help="Name of the notes.")] = None,
    project: ProjectOption = None,
    memory_scope: ScopeOption = None,
    scope_key: ScopeKeyOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Find decisions, tasks, plans, claims and procedures in notes, which are kept as a raw memory."""
    run("reflect", locals())


def explore(  # noqa: PLR0913 - as above
    entity_id: Annotated[str, typer.Argument(metavar="ID_OR_NAME", help="Where to start.")],
    mode: Annotated[str, typer.Option(help="related, traverse or dependencies.")] = "related",
    depth: Annotated[int | None, typer.Option(min=1, max=3, help="Steps of traverse and dependencies.")] = None,
    types: TypeOption = None,
    relationship_types: Annotated[
        list[str] | None, typer.Option("--along", help="Only along this relationship, such as DEPENDS_ON; repeatable.")
    ] = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Walk the graph from a record: its neighbours, what is around them, or dependencies."""
    run("explore", locals())


def show(
    entity_id: Annotated[str, typer.Argument(metavar="ID", help="Id, its beginning, or the exact name.")],
    as_of: Annotated[str | None, typer.Option("--as-of", help="As it was then: an ISO date or time, or 7d.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Show an entity, a raw memory or a part of a document, with its nearest neighbours."""
    run("show", locals())


def capture(
    review_state: Annotated[
        str, typer.Option("--state", help="pending, deferred, promoted or archived; '' for all.")
    ] = "pending",
    entity_type: Annotated[str | None, typer.Option("--type", "-t", help="Only this type.")] = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """List raw memories that nothing was made of yet, the latest first."""
    run("capture", locals())


def stats(as_json: JsonOption = False, url: UrlOption = None) -> None:
    """Count the records that you may read by type, and their relations."""
    run("stats", locals())


VERBS = (remember, search, recall, context, reflect, explore, show, capture, stats)
