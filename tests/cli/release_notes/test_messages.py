import pytest

from cli.release_notes.analysis.breaking import is_declared, note_in, sounds_breaking
from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.trailers import split_trailers


def read(message: str) -> Message:
    subject, _, body = message.partition("\n\n")
    text, trailers = split_trailers(body)
    return read_message(subject, text, trailers)


@pytest.mark.parametrize(
    ("subject", "kind", "scope", "text"),
    [("feat(http)!: drop the pool", "feature", "http", "Drop the pool"),
     ("perf: read in blocks (#12)", "performance", None, "Read in blocks"),
     ("chore(deps): bump httpx", "dependency", "deps", "Bump httpx"),
     ("fix: SQL injection in search", "security", None, "SQL injection in search"),
     ("🔥 Remove the old API", "removal", None, "Remove the old API"),
     ("[docs] explain retries", "documentation", None, "Explain retries"),
     ("parser: handle tabs", "fix", "parser", "Handle tabs"),
     ("Fixes a crash on Windows, closes #7", "fix", None, "Fixes a crash on Windows"),
     ("Deprecate the v1 routes", "deprecation", None, "Deprecate the v1 routes"),
     ("Allow empty names", "improvement", None, "Allow empty names"),
     ("Refactor the loader", "internal", None, "Refactor the loader"),
     ("Ünïcode", "other", None, "Ünïcode"),
     ("", "other", None, "No description")],
)  # fmt: skip
def test_subjects_are_read_for_what_they_say(subject: str, kind: str, scope: str | None, text: str) -> None:
    message = read(subject)
    assert (message.kind, message.scope, message.text) == (kind, scope, text)


@pytest.mark.parametrize(
    "subject", ["Bump version to 1.2.0", "v1.2.3", "chore: release 2.0.0", "@somebody has signed the CLA in a/b#1"]
)
def test_making_the_release_is_not_what_is_in_it(subject: str) -> None:
    assert read(subject).is_chore


def test_a_squashed_pull_request_keeps_what_its_commits_say_and_loses_the_noise() -> None:
    message = read(
        "Add retries (#12)\n\n* Add retries\n\n* fix lint\n\n* Retry on 503 as well\n\n"
        "* [pre-commit.ci] auto fixes from"
        " pre-commit.com hooks\n\nfor more information, see https://pre-commit.ci\n\n---------\n\n"
        "Co-authored-by: Bob <bob@example.org>"
    )
    assert message.details == "* Retry on 503 as well"


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
    ["feat!: new pool", "feat: x\n\nBREAKING CHANGE: y", "💥 New pool", "[BREAKING] New pool",
     "New pool\n\nThis is a breaking change for callers.", "feat: x\n\n- [x] Breaking change\n- [ ] Tests",
     "feat: x\n\n## Breaking changes\n\n- `y` is gone", "New pool (breaking change)",
     "Backwards-incompatible change to pools"],
)  # fmt: skip
def test_what_the_author_calls_breaking_is(message: str) -> None:
    assert is_declared(read(message), message.partition("\n\n")[2])


@pytest.mark.parametrize(
    ("body", "note"),
    [("It returns a tuple. This is a breaking change.", "It returns a tuple."),
     ("## Breaking changes\n\n- `y` is gone\n- `z` too\n\n## Tests\n\n- many", "- `y` is gone\n- `z` too"),
     ("Breaking change: `y` is gone\nand `z`.\n\nFaster.", "`y` is gone\nand `z`."),
     ("- [x] Breaking change\n- [x] Tests", None),
     ("Breaking changes: none", None),
     ("Faster.", None)],
)  # fmt: skip
def test_what_a_body_says_of_what_breaks_is_its_note(body: str, note: str | None) -> None:
    assert note_in(body) == note
    assert is_declared(read("New pool"), body) is not (body == "Faster." or body.endswith("none"))


@pytest.mark.parametrize(
    "message",
    ["New pool\n\nThis is not a breaking change.", "Avoid a breaking change in pools",
     "feat: x\n\nBREAKING CHANGE: None", "feat: x\n\n- [ ] This is a breaking change\n- [x] Tests added",
     "feat: x\n\n## Breaking changes\n\nNone", "feat: x\n\nIs this a breaking change? No",
     "Say which breaking changes there were", "Parse the BREAKING CHANGE footer"],
)  # fmt: skip
def test_speaking_of_breaking_changes_makes_none(message: str) -> None:
    assert not is_declared(read(message), message.partition("\n\n")[2])


@pytest.mark.parametrize(
    "subject",
    ["Remove `Client.close()`", "Removed the --force flag", "Rename `a_b` to `c_d`", "feat: remove `pool` option"],
)
def test_words_that_take_something_away_are_heard(subject: str) -> None:
    assert sounds_breaking(read(subject))


@pytest.mark.parametrize(
    "subject",
    ["Remove unused import of `Client`", "fix: remove stale lock files", "search() no longer crashes on empty input",
     "Add support for removing rows", "Raise the timeout"],
)  # fmt: skip
def test_words_that_only_sound_like_it_are_not(subject: str) -> None:
    assert not sounds_breaking(read(subject))


@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize(
    "piece", ["a: ", "(", "#1 ", "[x](y) ", "no longer ", "`", "BREAKING CHANGE: ", "\n\n- ", "é" * 3, "drop the "]
)
def test_long_and_odd_messages_take_no_time(piece: str, size: int) -> None:
    message = read(piece * (size // len(piece)))
    assert len(message.text) <= 400
    sounds_breaking(message)
    is_declared(message, piece * (size // len(piece)))
