"""Commit messages, read for what their authors say."""

import pytest

from cli.release_notes.analysis.breaking import drops_version, is_declared, note_in, removes_deprecated, says_so
from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.wording import is_noise


def read(message: str) -> Message:
    subject, _, body = message.partition("\n\n")
    return read_message(subject, body)


def breaks(message: str) -> bool:
    return read(message).marked or is_declared(read(message).text, message.partition("\n\n")[2])


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
    [("fix: a crash (#12)", "#12", ()), ("Fix a crash (#7) (#12)", "#12", ("#7",)),
     ("Crash\n\nFixes #7, #8 and #9\nSee #10", None, ("#7", "#8", "#9")), ("Fix bug for issue #7", None, ("#7",)),
     ("Tidy\n\nCloses a/b#7", None, ())],
)  # fmt: skip
def test_pull_requests_and_closed_issues_are_numbers_to_link(
    message: str, pull: str | None, issues: tuple[str, ...]
) -> None:
    assert (read(message).pull_request, read(message).issues) == (pull, issues)


@pytest.mark.parametrize(
    "subject",
    ["Bump version to 1.2.0", "v1.2.3", "Widget 7.2.4", "2.0.8 init", "chore: release 2.0.0", "Version Packages (#117)",
     "update copyright year (#127)", "Squashed 'docs/' changes from a1..b2", "fixup! Add retries",
     "Fix a typo in the log", "Make the linter happy", "Fix flaky test", "Address review comments", "Update CHANGELOG"],
)  # fmt: skip
def test_making_the_release_and_tidying_is_not_what_is_in_it(subject: str) -> None:
    assert read(subject).noise


@pytest.mark.parametrize("subject", ["Add a test client", "Format strings lazily", "Release the lock on errors"])
def test_words_of_makers_in_the_work_of_users_are_no_noise(subject: str) -> None:
    assert not is_noise(subject)


def test_a_squashed_pull_request_keeps_what_its_commits_say_and_loses_the_noise() -> None:
    message = read(
        "Add retries (#12)\n\n* Add retries\n\n* fix lint\n\n* Retry on 503 as well\n\n* [pre-commit.ci] auto fixes\n\n"
        "for more information, see https://pre-commit.ci\n\n---------\n\nCo-authored-by: Bob <bob@example.org>"
    )
    assert message.details == "* Retry on 503 as well"
    several = read("Pool (#12)\n\n* feat: add a pool\n* fix: close it\n* fix: lint\n* chore: tidy")
    assert [(each.text, each.pull_request) for each in several.listed] == [("add a pool", "#12"), ("close it", "#12")]


@pytest.mark.parametrize(
    ("body", "details"),
    [("Summary\n--\n\nStable now.\n\n## Test plan\n\nRan it.", "Stable now."),
     ("<!-- Thanks! -->\n### Description\n\nStable now.\n\n- [x] I have read it", "Stable now."),
     ("Stable now.\n\nFixes #7\nSigned-off-by: A <a@b.c>", "Stable now.")],
)  # fmt: skip
def test_the_headings_and_boxes_of_a_template_are_no_text(body: str, details: str) -> None:
    assert read(f"Stabilize it\n\n{body}").details == details


def test_a_breaking_footer_is_a_note_whatever_follows_it() -> None:
    message = read(
        "feat: new pool\n\nFaster.\n\nBREAKING CHANGE: `pool=` is gone,\nuse `limit=`.\nMigration: none\n\n"
        "Signed-off-by: A <a@b.c>"
    )
    assert message.marked
    assert (message.breaking_note, message.migration) == ("`pool=` is gone, use `limit=`.", "none")
    assert message.details == "Faster."


@pytest.mark.parametrize(
    "message",
    ["feat!: new pool", "feat: x\n\nBREAKING CHANGE: y", "feat: x\n\nMore.\nBREAKING CHANGE: y", "💥 New pool",
     "[BREAKING] New pool", "feat: x\n\n- [x] Breaking change\n- [ ] Tests",
     "feat: x\n\n## Breaking changes\n\n- `y` is gone", "New pool (breaking change)",
     "Backwards-incompatible change to pools"],
)  # fmt: skip
def test_what_the_author_declares_breaking_is(message: str) -> None:
    assert breaks(message)


@pytest.mark.parametrize(
    "message",
    ["Avoid a breaking change in pools", "feat: x\n\nBREAKING CHANGE: None", "feat: x\n\n- [ ] This is breaking",
     "feat: x\n\n## Breaking changes\n\nNone", "feat: x\n\nIs this a breaking change? No",
     "Parse the BREAKING CHANGE footer",
     "feat: x\n\n<!-- BREAKING CHANGE: describe -->"],
)  # fmt: skip
def test_speaking_of_breaking_changes_makes_none(message: str) -> None:
    assert not breaks(message)


@pytest.mark.parametrize(
    ("body", "note"),
    [("## Breaking changes\n\n- `y` is gone\n- `z` too\n\n## Tests\n\n- many", "- `y` is gone\n- `z` too"),
     ("Breaking change: `y` is gone\nand `z`.\n\nFaster.", "`y` is gone\nand `z`."),
     ("- [x] Breaking change\n- [x] Tests", None), ("Breaking changes: none", None), ("Faster.", None)],
)  # fmt: skip
def test_what_a_body_says_of_what_breaks_is_its_note(body: str, note: str | None) -> None:
    assert note_in(body) == note


@pytest.mark.parametrize(
    ("text", "said"),
    [("Remove `Client.close()`", True), ("Removed the --force flag", True), ("Rename `a_b` to `c_d`", True),
     ("The deprecated `app` argument has been removed", True), ("New pool. This is a breaking change", True),
     ("Replaced the `A` exception with `B`", True), ("upsert() now requires a key", True),
     ("Remove unused import of `Client`", False), ("Remove stale lock files", False), ("Raise the timeout", False),
     ("search() no longer crashes on empty input", False), ("Add support for removing rows", False),
     ("Remove the default command if it is alone", False), ("Remove `_helper` from the pool", False),
     ("Remove optimization of `read()`", False),
     ("Remove global state from `Parser`", False),
     ("Remove support for plugins in `x.y`", True)],
)  # fmt: skip
def test_words_tell_that_something_public_goes_and_not_that_something_is_tidied(text: str, said: bool) -> None:
    assert says_so(text) is said


@pytest.mark.parametrize(
    ("text", "said"),
    [("Drop support for Python 3.8 and 3.9", True), ("Drop Node 18", True),
     ("Update minimum Rust version to 1.78", True),
     ("Require Node.js 22", True), ("Bump MSRV to 1.80", True), ("Support Python 3.14", False),
     ("Test on Python 3.9", False), ("Drop Python 3.7 in `tox.ini`", False),
     ("Remove Python 2 compatibility code", False),
     ("Remove Python 3.7 workarounds", False), ("Require a name", False)],
)  # fmt: skip
def test_a_language_version_that_goes_is_heard(text: str, said: bool) -> None:
    assert drops_version(text) is said


@pytest.mark.parametrize(
    ("text", "said"),
    [("Remove deprecated `app` argument", True), ("Lift hooks deprecation warning to error", True),
     ("Remove deprecated usage of `imp`", False), ("Remove deprecation warnings", False)],
)  # fmt: skip
def test_what_was_deprecated_goes(text: str, said: bool) -> None:
    assert removes_deprecated(text) is said


@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize(
    "piece", ["a: ", "(", "#1 ", "[x](y) ", "no longer ", "`", "BREAKING CHANGE: ", "\n\n- ", "ééé", "* feat: x\n"]
)  # fmt: skip
def test_long_and_odd_messages_take_no_time(piece: str, size: int) -> None:
    text = piece * (size // len(piece))
    assert len(read(text).text) <= 400
    assert len(read_message("x", text[:20_000]).details) <= 4_000
    says_so(text[:2_000], text[:20_000])
    drops_version(text[:2_000])
    is_declared(text[:2_000], text[:20_000])
