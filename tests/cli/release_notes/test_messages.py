"""Commit messages, read for what their authors say."""

import pytest

from cli.release_notes.analysis.message import Message, read_message


def read(message: str) -> Message:
    subject, _, body = message.partition("\n\n")
    return read_message(subject, body)


@pytest.mark.parametrize(
    ("subject", "kind", "scope", "text"),
    [("feat(http)!: drop the pool", "feature", "http", "drop the pool"),
     ("perf: read in blocks (#12)", "performance", None, "read in blocks"),
     ("chore(deps): bump httpx", "dependency", "deps", "bump httpx"),
     ("fix: SQL injection in search", "security", None, "SQL injection in search"),
     ("🔥 Remove the old API", "removal", None, "Remove the old API"),
     ("[docs] explain retries", "documentation", None, "explain retries"),
     ("parser: handle tabs", "fix", "parser", "handle tabs"),
     ("Fixes a crash on Windows, closes #7", "fix", None, "Fixes a crash on Windows, closes #7"),
     ("fix(cache): properly fix #4101", "fix", "cache", "properly fix #4101"),
     ("Deprecate the v1 routes", "deprecation", None, "Deprecate the v1 routes"),
     ("Allow empty names", "feature", None, "Allow empty names"),
     ("Refactor the loader", "internal", None, "Refactor the loader"),
     ("Ünïcode", "other", None, "Ünïcode"),
     ("", "other", None, "No description")],
)  # fmt: skip
def test_subjects_are_read_for_what_they_say_and_lose_nothing(
    subject: str, kind: str, scope: str | None, text: str
) -> None:
    message = read(subject)
    assert (message.kind, message.scope, message.text) == (kind, scope, text)


@pytest.mark.parametrize(
    ("message", "pull", "issues"),
    [("fix: a crash (#12)", "#12", ()), ("Fix a crash (#7) (#12)", "#12", ("#7",)), ("Tidy\n\nCloses a/b#7", None, ()),
     ("Crash\n\nFixes #7, #8 and #9\nSee #10", None, ("#7", "#8", "#9")), ("Fix bug for issue #7", None, ("#7",))],
)  # fmt: skip
def test_pull_requests_and_closed_issues_are_numbers_to_link(
    message: str, pull: str | None, issues: tuple[str, ...]
) -> None:
    assert (read(message).pull_request, read(message).issues) == (pull, issues)


@pytest.mark.parametrize(
    ("body", "details"),
    [("Summary\n--\n\nStable now.\n\n## Test plan\n\nRan it.", "Stable now."),
     ("<!-- Thanks! -->\n### Description\n\nStable now.\n\n- [x] I have read it", "Stable now."),
     ("Stable now.\n\nFixes #7\nSigned-off-by: A <a@b.c>", "Stable now."),
     ("* Stabilize it\n\n* fix lint\n\n* Retry as well\n\n* [pre-commit.ci] auto fixes\n\nfor more information, see "
      "https://pre-commit.ci\n\n---------\n\nCo-authored-by: Bob <bob@example.org>", "* Retry as well")],
)  # fmt: skip
def test_templates_footers_and_noise_of_squashed_commits_are_no_text(body: str, details: str) -> None:
    assert read(f"Stabilize it (#12)\n\n{body}").details == details
