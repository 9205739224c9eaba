"""Facts by hand: what an analysis would give for a small, made-up project."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.release_notes.facts import Change, Commit, Contributor, Manifest, Person, ReleaseFacts

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA = Person("Ada Lovelace", "ada@example.org", False)
BOB = Person("Bob", "bob@example.org", False)
BOT = Person("dependabot[bot]", "bot@example.org", True)


def sha(number: int) -> str:
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()


def commit(number: int, subject: str, body: str = "", author: Person = ADA, **more: Any) -> Commit:
    at = START + timedelta(days=number)
    return Commit(sha(number), (sha(number - 1),), author, (), at, subject, body, **more)


def change(number: int, kind: str, text: str, **more: Any) -> Change:
    values: dict[str, Any] = {"scope": None, "details": "", "commits": (sha(number),), **more}
    return Change(kind, text=text, **values)  # type: ignore[arg-type]


CHANGES = (
    change(
        1, "feature", "weave patterns with `weave()` from a card", scope="api", pull_request="#12", impact=0.9,
        details="A pattern is read from a card and woven row by row. It takes 3 threads at least.",
    ),
    change(
        2, "removal", "drop the `--shuttle` flag", breaking=True,
        breaking_note="Scripts that pass --shuttle stop working.",
        migration="- Remove `--shuttle` from your scripts.\n- Set LOOM_SHUTTLE instead.", impact=0.85,
    ),
    change(3, "performance", "wind bobbins twice as fast", impact=0.6),
    change(4, "fix", "keep the thread when a card ends early", impact=0.5, pull_request="#15", issues=("#14",)),
    change(5, "security", "refuse cards that name files outside of the folder", impact=0.55),
    change(6, "documentation", "explain how cards are cut", impact=0.1),
    change(7, "dependency", "update punch to 2.0", impact=0.05),
    change(8, "internal", "move the tests", impact=0.01),
)  # fmt: skip
COMMITS = (
    commit(1, "feat(api): weave patterns with `weave()` from a card (#12)", CHANGES[0].details),
    commit(
        2, "feat!: drop the `--shuttle` flag", "Scripts that pass --shuttle stop working. Set LOOM_SHUTTLE instead."
    ),
    commit(3, "perf: wind bobbins twice as fast"),
    commit(4, "fix: keep the thread when a card ends early (#15)", author=BOB),
    commit(5, "Refuse cards that name files outside of the folder", author=BOB),
    commit(6, "docs: explain how cards are cut"),
    commit(7, "build(deps): update punch to 2.0", author=BOT),
    commit(8, "chore: move the tests"),
)


def facts(**changed: Any) -> ReleaseFacts:
    commits: Mapping[str, Commit] = {each.sha: each for each in reversed(COMMITS)}
    made = ReleaseFacts(
        version="v1.1.0",
        released_at=START + timedelta(days=9),
        from_ref="v1.0.0",
        to_ref="v1.1.0",
        from_sha=sha(0),
        to_sha=sha(8),
        commits=commits,
        changes=CHANGES,
        contributors=(Contributor(ADA, 5), Contributor(BOB, 2)),
        bots=(Contributor(BOT, 1),),
        project_name="looms",
        manifests=(Manifest("pyproject.toml", "pip", "looms", "1.1.0", "Python >=3.11"),),
        remote_url="https://github.com/lovelace/looms",
        compared=("v1.0.0", "v1.1.0"),
    )
    return replace(made, **changed)
