import pytest

from cli.release_notes.analysis.breaking import drops_support, is_declared, names_in, note_in, sounds_breaking
from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.trailers import co_authors, split_trailers


def read(message: str) -> Message:
    subject, _, body = message.partition("\n\n")
    text, trailers = split_trailers(body)
    return read_message(subject, text, trailers)


@pytest.mark.parametrize(
    ("subject", "kind", "scope", "text"),
    [
        ("feat: add retries", "feature", None, "Add retries"),
        ("feat(http)!: drop the pool", "feature", "http", "Drop the pool"),
        ("FIX(store): empty input", "fix", "store", "Empty input"),
        ("perf: read in blocks (#12)", "performance", None, "Read in blocks"),
        ("chore(deps): bump httpx", "dependency", "deps", "Bump httpx"),
        ("fix: SQL injection in search", "security", None, "SQL injection in search"),
        ("ENH: rolling windows", "feature", None, "Rolling windows"),
        ("✨ Add dark mode", "feature", None, "Add dark mode"),
        (":bug: Crash on start", "fix", None, "Crash on start"),
        ("🔥 Remove the old API", "removal", None, "Remove the old API"),
        ("[docs] explain retries", "documentation", None, "Explain retries"),
        ("parser: handle tabs", "fix", "parser", "Handle tabs"),
        ("net/http: add retries", "feature", "net/http", "Add retries"),
        ("Added the `--limit` option", "feature", None, "Added the `--limit` option"),
        ("Fixes a crash on Windows, closes #7", "fix", None, "Fixes a crash on Windows"),
        ("Deprecate the v1 routes", "deprecation", None, "Deprecate the v1 routes"),
        ("Dropped support for Node 16 (#3) (#4)", "removal", None, "Dropped support for Node 16"),
        ("Allow empty names", "improvement", None, "Allow empty names"),
        ("Speed up parsing", "performance", None, "Speed up parsing"),
        ("Refactor the loader", "internal", None, "Refactor the loader"),
        ("CVE-2026-1234: check sizes", "security", None, "CVE-2026-1234: check sizes"),
        ("The cache is now shared", "improvement", None, "The cache is now shared"),
        ("db.atomic() method", "feature", None, "db.atomic() method"),
        ("Feature/async itertools (#1107)", "feature", None, "Async itertools"),
        ("bugfix/login-page", "fix", None, "Login page"),
        ("Add versionchanged", "documentation", None, "Add versionchanged"),
        ("Add missing versionadded tag", "documentation", None, "Add missing versionadded tag"),
        ("Update changelog", "documentation", None, "Update changelog"),
        ("Update README.md", "documentation", None, "Update README.md"),
        ("fix doc rendering (#593)", "documentation", None, "Fix doc rendering"),
        ("Fix link to narrative console docs", "documentation", None, "Fix link to narrative console docs"),
        ("Say in the docs what is new", "documentation", None, "Say in the docs what is new"),
        ("add .gitignore", "internal", None, "Add .gitignore"),
        ("Fix lint", "internal", None, "Fix lint"),
        ("update dev (#765)", "internal", None, "Update dev"),
        ("Add 3.15 to CI", "internal", None, "Add 3.15 to CI"),
        ("Measure on real logs", "internal", None, "Measure on real logs"),
        ("Add a docs command", "feature", None, "Add a docs command"),
        ("Add tests to the plan view", "feature", None, "Add tests to the plan view"),
        ("Improve several things:", "improvement", None, "Improve several things"),
        ("feat(sc*ope_[x](y)): scoped <b>", "feature", "sc*ope_[x](y)", "Scoped <b>"),
        ("fix(a/b, `c`)!: empty input", "fix", "a/b, `c`", "Empty input"),
        ("Ünïcode", "other", None, "Ünïcode"),
        ("", "other", None, "No description"),
        ("https://example.org/a: b", "other", None, "https://example.org/a: b"),
    ],
)
def test_subjects_are_read_for_what_they_say(subject: str, kind: str, scope: str | None, text: str) -> None:
    message = read(subject)
    assert (message.kind, message.scope, message.text) == (kind, scope, text)


@pytest.mark.parametrize(
    "subject",
    ["Bump version to 1.2.0", "Release 4.0rc1", "Version 0.44.0 (#2819)", "v1.2.3", "Prepare 24.1.0",
     "chore: release 2.0.0",
     "Start new development cycle", "@somebody has signed the CLA in a/b#1", "Bumped up the version"],
)  # fmt: skip
def test_making_the_release_is_not_what_is_in_it(subject: str) -> None:
    assert read(subject).is_chore


@pytest.mark.parametrize("subject", ["Release the lock on errors", "Version the cache keys", "Prepare statements once"])
def test_words_of_releasing_may_be_about_something_else(subject: str) -> None:
    assert not read(subject).is_chore


def test_numbers_are_told_apart() -> None:
    message = read(
        "Add retries (#12)\n\nFixes #3 and #4, refs #5.\n\nSee also https://example.org/a/b/issues/9\n\nCloses: #6"
    )
    assert message.pull_request == "#12"
    assert set(message.issues) == {"#3", "#4", "#5", "#6"}


def test_a_squashed_pull_request_keeps_what_its_commits_say_and_loses_the_noise() -> None:
    message = read(
        "Add retries (#12)\n\n* Add retries\n\n* fix lint\n\n* Retry on 503 as well\n\n"
        "* [pre-commit.ci] auto fixes from"
        " pre-commit.com hooks\n\nfor more information, see https://pre-commit.ci\n\n---------\n\n"
        "Co-authored-by: Bob <bob@example.org>"
    )
    assert message.details == "* Retry on 503 as well"


@pytest.mark.parametrize(
    "body",
    [
        '    x = call("a_b")\n    y = 2',
        'They are lists:\n\n    keys=[\n        (["a", "b"], "deps"),\n    ]\n\nDone.',
        "```yaml\n---\n\nsteps:\n  test\n  - lint\n```",
        "\tmake\n\ttests",
    ],
)
def test_code_in_a_message_keeps_its_shape(body: str) -> None:
    assert read(f"feat: x\n\n{body}").details == body


def test_a_breaking_footer_is_a_note_whatever_follows_it() -> None:
    message = read(
        "feat: new pool\n\nFaster.\n\nBREAKING CHANGE: `pool=` is gone,\nuse `limit=`.\nMigration: none\n\n"
        "Signed-off-by: A <a@b.c>"
    )
    assert message.marked
    assert (message.breaking_note, message.migration) == ("`pool=` is gone, use `limit=`.", "none")
    assert message.details == "Faster."


def test_what_to_do_is_kept_apart() -> None:
    message = read("feat!: new pool\n\nMigration guide: replace `pool=`\nby `limit=`.\n\nIt is faster.")
    assert (message.migration, message.details) == ("replace `pool=` by `limit=`.", "It is faster.")


@pytest.mark.parametrize(
    ("body", "text", "trailers"),
    [
        ("Why.\n\nFixes: #1\nSigned-off-by: A <a@b.c>", "Why.", [("Fixes", "#1"), ("Signed-off-by", "A <a@b.c>")]),
        ("Note: this is prose\nand goes on.", "Note: this is prose\nand goes on.", []),
        ("Reviewed-by: A\n  and B", "", [("Reviewed-by", "A and B")]),
        ("Text.\n\n(cherry picked from commit 0123456789)", "Text.", []),
        ("", "", []),
    ],
)
def test_trailers_are_split_off(body: str, text: str, trailers: list[tuple[str, str]]) -> None:
    assert split_trailers(body) == (text, tuple(trailers))


def test_co_authors_are_found_wherever_squashing_left_them() -> None:
    body = "* One\n\nCo-authored-by: Bob <bob@example.org>\n\n* Two\n\nco-authored-by: Cy <cy@example.org>\n---\n"
    assert co_authors(body * 2) == [("Bob", "bob@example.org"), ("Cy", "cy@example.org")]


@pytest.mark.parametrize(
    "message",
    ["feat!: new pool", "feat: x\n\nBREAKING CHANGE: y", "💥 New pool", "[BREAKING] New pool", "breaking: new pool",
     "New pool\n\nThis is a breaking change for callers.", "New pool\n\nIt is backwards incompatible.",
     "feat: x\n\n- [x] Breaking change\n- [ ] Tests", "feat: x\n\nBreaking changes: yes, `y` is gone",
     "feat: x\n\nBREAKING CHANGE: No longer reads XML", "feat: x\n\nBREAKING CHANGE:\n\n`y` is gone",
     "feat: x\n\n## Breaking changes\n\n- `y` is gone",
     "New pool (breaking change)", "New pool [breaking]", "New pool, a breaking change", "New pool - BREAKING CHANGE",
     "Use UTC everywhere; this is a breaking change", "Return tuples, which is a breaking change",
     "Backwards-incompatible change to pools", "Breaking API change: pools", "Breaking changes to the API of pools",
     "New pool\n\nIt's a breaking change.", "New pool\n\nIt breaks backwards compatibility."],
)  # fmt: skip
def test_what_the_author_calls_breaking_is(message: str) -> None:
    assert is_declared(read(message), message.partition("\n\n")[2])


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("Faster.\n\nThis is a breaking change, since it now\nreturns a tuple and no list.",
         "This is a breaking change, since it now returns a tuple and no list."),
        ("It returns a tuple. This is a breaking change.", "It returns a tuple."),
        ("Faster. This is a breaking change. Callers must pass `x`.", "Callers must pass `x`."),
        ("## Breaking changes\n\n- `y` is gone\n- `z` too\n\n## Tests\n\n- many", "- `y` is gone\n- `z` too"),
        ("**Breaking changes**\n\n`y` is gone.\n\n**Tests**\n\nMany.", "`y` is gone."),
        ("Breaking change: `y` is gone\nand `z`.\n\nFaster.", "`y` is gone\nand `z`."),
        ("Breaking changes: yes, `y` is gone", "`y` is gone"),
        ("- [x] Breaking change\n- [x] Tests", None),
        ("This is a breaking change.", None),
        ("Breaking changes: none", None),
        ("It is a breaking\nchange.", None),
        ("Faster.", None),
    ],
)  # fmt: skip
def test_what_a_body_says_of_what_breaks_is_its_note(body: str, note: str | None) -> None:
    assert note_in(body) == note
    assert is_declared(read("New pool"), body) is not (body == "Faster." or body.endswith("none"))


@pytest.mark.parametrize(
    "message",
    ["New pool\n\nThis is not a breaking change.", "New pool (no breaking changes)", "Avoid a breaking change in pools",
     "Pin mcp<2\n\nIt guards against the planned breaking change.", "Group the changelog into breaking changes",
     "feat: x\n\nBREAKING CHANGE: None", "feat: x\n\nBREAKING CHANGE: N/A", "fix: x\n\nBREAKING-CHANGE: none.",
     "feat: x\n\nBreaking changes: no", "feat: x\n\n- [ ] This is a breaking change\n- [x] Tests added",
     "feat: x\n\n* [ ] Breaking change (fix or feature that breaks what is there)", "feat: x\n\nBREAKING CHANGE:",
     "docs: breaking changes explained\n\nExplains BREAKING CHANGES: of the last release.",
     "feat: x\n\n## Breaking changes\n\nNone", "feat: x\n\nIs this a breaking change? No",
     "Fix x\n\nThis used to break.",
     "feat: x\n\nBREAKING CHANGE: none expected",
     "feat: x\n\nDoes this introduce a breaking change?\n\n- [ ] Yes\n- [x] No",
     "Say which breaking changes there were", "feat: x\n\nNo BREAKING CHANGE: all stays.",
     "Take a breaking change that nobody claims for none", "feat: flag a breaking change in the diff",
     "fix: a breaking change is reported twice", "Say when something is a breaking change",
     "Decide whether a rename is a breaking change", "Count a breaking change once", "Put the breaking change first",
     "Breaking changes come first in the notes", "List what is breaking, backwards incompatible or deprecated",
     "Explain why dropping X is a breaking change", "Add a breaking change label to the bot",
     "Parse the BREAKING CHANGE footer", "Support backwards incompatible migrations",
     "Rename the breaking changes section to incompatibilities", "Fix the breaking change from #12",
     "Restore what the breaking change of 2.0 removed", "x\n\nThe critic treats a breaking change as none.",
     "x\n\nUsers see a breaking change before they upgrade.", "x\n\nIt reads the breaking changes section."],
)  # fmt: skip
def test_speaking_of_breaking_changes_makes_none(message: str) -> None:
    assert not is_declared(read(message), message.partition("\n\n")[2])


@pytest.mark.parametrize(
    "subject",
    ["Drop Python 3.8", "Dropped support for Python 3.9 (#1040)", "Drop support for Node.js 16", "Drop 3.9 (#800)",
     "Requires Python >= 3.11", "Bump minimum Rust version to 1.80", "Remove support for Django 3.2"],
)  # fmt: skip
def test_versions_that_are_no_longer_supported_are_seen(subject: str) -> None:
    assert drops_support(subject)


@pytest.mark.parametrize(
    "subject", ["Test on Python 3.14", "Remove python version from mypy", "Drop 3 tables", "Add Python 3.15"]
)
def test_other_talk_of_versions_is_not_that(subject: str) -> None:
    assert not drops_support(subject)


@pytest.mark.parametrize(
    "subject",
    ["Remove `Client.close()`", "Removed the --force flag", "Remove the deprecated v1 endpoint",
     "Rename `a_b` to `c_d`", "Replaced the FooError exception with BarError", "feat: remove `pool` option",
     "upsert() now requires a key", "Raise ValueError instead of KeyError"],
)  # fmt: skip
def test_words_that_take_something_away_are_heard(subject: str) -> None:
    assert sounds_breaking(read(subject))


@pytest.mark.parametrize(
    "subject",
    ["Remove unused import of `Client`", "Remove an internal helper function", "Removed duplicate code in parser.py",
     "fix: remove stale lock files", "Rename a variable", "drop-index command", "Fix crash that removes `x`",
     "search() no longer crashes on empty input", "Require ruff 0.15", "Raise the timeout",
     "Remove workaround for `click`",
     "Add support for removing rows", "chore: remove `foo()`",
     "Refuse `None` as a name", "search() no longer returns deleted rows"],
)  # fmt: skip
def test_words_that_only_sound_like_it_are_not(subject: str) -> None:
    assert not sounds_breaking(read(subject))


def test_names_of_code_are_found_bare() -> None:
    assert names_in("Add `Client.close()`, --limit and max_size to open() of FooBar") == (
        "close", "--limit", "max_size", "open", "FooBar",
    )  # fmt: skip


@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize(
    "piece", ["a: ", "(", "#1 ", "[x](y) ", "no longer ", "`", "BREAKING CHANGE: ", "\n\n- ", "é" * 3, "drop the "]
)
def test_long_and_odd_messages_take_no_time(piece: str, size: int) -> None:
    message = read(piece * (size // len(piece)))
    assert len(message.text) <= 400
    sounds_breaking(message)
    is_declared(message, piece * (size // len(piece)))
