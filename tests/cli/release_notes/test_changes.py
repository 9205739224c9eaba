from pathlib import Path

import pytest

from cli.release_notes.facts import Change
from tests.cli.release_notes.repositories import Built, Files, begun


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return begun(tmp_path, {"README.md": "# Tool\n", "tool/__init__.py": "", "tool/a.py": "x = 1\n"})


def texts(changes: tuple[Change, ...]) -> list[str]:
    return sorted(change.text for change in changes)


def source(number: int) -> Files:
    return {"tool/a.py": f"x = {number}\n"}


@pytest.mark.parametrize(
    "message", ['Revert "Add a cache (#2)"', "revert: Add a cache (#2)", "Oops\n\nThis reverts commit {sha}."]
)
def test_what_is_reverted_by_sha_subject_or_number_is_not_in_the_release(built: Built, message: str) -> None:
    kept = built.commit("Add retries (#1)", source(2))
    gone = built.commit("Add a cache (#2)", source(3))
    built.commit(message.replace("{sha}", gone[:10]), source(2))
    assert [change.commits for change in built.facts().changes] == [(kept,)]


def committed(built: Built, message: str, files: Files | None = None) -> Change:
    built.commit(message, files or source(2))
    (change,) = built.facts().changes
    return change


@pytest.mark.parametrize(
    ("subject", "kind", "scope", "text"),
    [("feat(http)!: drop the pool", "feature", "http", "drop the pool"),
     ("perf: read in blocks (#12)", "performance", None, "read in blocks"),
     ("fix: SQL injection in search", "security", None, "SQL injection in search"),
     ("🔥 Remove the old API", "removal", None, "Remove the old API"),
     ("[docs] explain retries", "documentation", None, "explain retries"),
     ("parser / cli: handle tabs", "fix", "parser / cli", "handle tabs"),
     ("Deprecate the v1 routes", "deprecation", None, "Deprecate the v1 routes"),
     ("Ünïcode", "other", None, "Ünïcode"),
     ("", "other", None, "No description")],
)  # fmt: skip
def test_subjects_are_read_for_what_they_say_and_lose_nothing(
    built: Built, subject: str, kind: str, scope: str | None, text: str
) -> None:
    change = committed(built, subject)
    assert (change.kind, change.scope, change.text) == (kind, scope, text)


@pytest.mark.parametrize(
    ("message", "pull", "issues"),
    [("fix: a crash (#12)", "#12", ()), ("Fix a crash (#7) (#12)", "#12", ("#7",)), ("Tidy\n\nCloses a/b#7", None, ()),
     ("Crash\n\nFixes #7, #8 and #9\nSee #10", None, ("#7", "#8", "#9")), ("Fix bug for issue #7", None, ("#7",))],
)  # fmt: skip
def test_pull_requests_and_closed_issues_are_numbers_to_link(
    built: Built, message: str, pull: str | None, issues: tuple[str, ...]
) -> None:
    change = committed(built, message)
    assert (change.pull_request, change.issues) == (pull, issues)


@pytest.mark.parametrize(
    ("body", "details"),
    [("<!-- Hi -->\n### Summary\n\nStable now.\n\n- [x] I have read it\n\n## Test plan\n\nRan it.", "Stable now."),
     ("Stable now.\n\nFixes #7\nSigned-off-by: A <a@b.c>", "Stable now."),
     ("* Stabilize it\n\n* fix lint\n\n* Retry as well\n\n* [pre-commit.ci] auto fixes\n\nfor more information, see "
      "https://pre-commit.ci\n\n---------\n\nCo-authored-by: Bob <bob@example.org>", "* Retry as well")],
)  # fmt: skip
def test_templates_footers_and_noise_of_squashed_commits_are_no_text(built: Built, body: str, details: str) -> None:
    assert committed(built, f"Stabilize it (#12)\n\n{body}").details == details


def test_a_revert_of_a_revert_brings_the_change_back(built: Built) -> None:
    made = built.commit("Add a cache", source(2))
    undone = built.commit(f'Revert "Add a cache"\n\nThis reverts commit {made}.', source(1))
    redone = built.commit(f'Reapply "Add a cache"\n\nThis reverts commit {undone}.', source(2))
    assert texts(built.facts().changes) == ["Add a cache"]
    built.commit(f'Revert "Reapply "Add a cache""\n\nThis reverts commit {redone}.', source(1))
    assert texts(built.facts().changes) == []


@pytest.mark.parametrize(
    ("message", "number"),
    [("Merge pull request #12 from bob/retries\n\nAdd retries to the client", "#12"),
     ("Merge branch 'retries' into 'main'\n\nAdd retries to the client\n\nSee merge request group/tool!12", "!12"),
     ("Merge a/b#12: Add retries to the client", "#12")],
)  # fmt: skip
def test_a_pull_request_is_one_change_with_all_its_commits(built: Built, message: str, number: str) -> None:
    shas = [str(built.head)]
    for at, subject in enumerate(("wip", "address review", "more")):
        shas.append(built.commit(subject, source(10 + at), parents=shas[-1:], keep=False))
    merge = built.commit(message, source(12), parents=[shas[0], shas[-1]])
    (change,) = built.facts().changes
    assert (change.text, change.kind, change.pull_request) == ("Add retries to the client", "feature", number)
    assert change.commits == (merge, *shas[:0:-1])


@pytest.mark.parametrize(
    ("message", "files", "kind"),
    [("Bump httpx from 0.27 to 0.28 (#1)", {"uv.lock": "1", "pyproject.toml": "1"}, "dependency"),
     ("chore(deps): update dependency ruff to v0.9 (#3)", {"uv.lock": "1"}, "dependency"),
     ("Bump version to 1.2.0", {"uv.lock": "1", "pyproject.toml": "1"}, "internal"),
     ("Update to latest weaver", {"uv.lock": "1", "pyproject.toml": "1"}, "dependency"),
     ("fix(deps): security update of urllib3 for CVE-2026-2222", {"uv.lock": "2"}, "security"),
     ("Bump urllib3 from 2.0 to 2.1\n\nFixes CVE-2026-2222.", {"uv.lock": "3"}, "security"),
     ("Fix flaky timing", {"tests/test_a.py": "1"}, "internal"),
     ("Add a job", {".github/workflows/ci.yml": "1"}, "internal"),
     ("Add a recipe", {"docs/recipes.md": "1"}, "documentation"),
     ("feat: show diffs", {"tests/test_a.py": "1", "tool/a.py": "y = 1\n"}, "feature"),
     ("Drop Python 3.9", {".github/workflows/ci.yml": "1", "setup.py": "1"}, "removal")],
)  # fmt: skip
def test_files_have_a_say_in_what_a_change_is(built: Built, message: str, files: Files, kind: str) -> None:
    assert committed(built, message, files).kind == kind


DOCUMENTED: Files = {"tool/a.py": "z = 1\n", "docs/a.md": "1"}
BREAKS = [
    "feat!: new pool", "feat: x\n\nBREAKING CHANGE: y", "feat: x\n\nMore.\nBREAKING CHANGE: y", "💥 New pool",
    "[BREAKING] New pool", "feat: x\n\n- [x] Breaking change\n- [ ] Tests", "New pool (breaking change)",
    "feat: x\n\n## Breaking changes\n\n- `y` is gone", "Backwards-incompatible change to pools",
    "Remove `Client.close()`", "Removed the --force flag", "Rename `a_b` to `c_d`",
    "The deprecated `app` argument has been removed", "New pool. This is a breaking change",
    "upsert() now requires a key", "Remove support for plugins in `x.y`",
    "Drop support for Python 3.8 and 3.9", "Drop Node 18", "Update minimum Rust version to 1.78",
    "Require Node.js 22", "Raise the MSRV to 1.80", "Bump MSRV to 1.80", "Remove deprecated `app` argument",
    "Lift hooks deprecation warning to error",
]  # fmt: skip
HARMLESS = [
    "Avoid a breaking change in pools", "feat: x\n\nBREAKING CHANGE: None", "feat: x\n\n- [ ] This is breaking",
    "feat: x\n\n## Breaking changes\n\nNone", "feat: x\n\nIs this a breaking change? No",
    "Parse the BREAKING CHANGE footer", "feat: x\n\n<!-- BREAKING CHANGE: describe -->",
    "Remove unused import of `Client`", "Remove stale lock files", "Raise the timeout",
    "search() no longer crashes on empty input", "Add support for removing rows",
    "Remove the default command if it is alone", "Remove `_helper` from the pool", "Remove optimization of `read()`",
    "Remove global state from `Parser`", "Support Python 3.14", "Test on Python 3.9",
    "Drop Python 3.7 in `tox.ini`", "Remove Python 2 compatibility code", "Remove Python 3.7 workarounds",
    "Require a name", "Remove deprecated usage of `imp`", "Remove deprecation warnings",
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "files", "breaking"),
    [*((message, DOCUMENTED, True) for message in BREAKS), *((message, DOCUMENTED, False) for message in HARMLESS),
     ("Remove `Client.close()`", {"tests/test_a.py": "z = 1\n"}, False),
     ("Remove `Client.close()`", {"tool/a.py": "z = 1\n"}, False),
     ("Drop Node 18", {"tool/a.py": "z = 1\n"}, True),
     ("docs: this is a breaking change", {"docs/a.md": "1"}, False),
     ("docs!: new numbering", {"docs/a.md": "1"}, True)],
)  # fmt: skip
def test_what_is_declared_or_documented_and_what_users_have_breaks(
    built: Built, message: str, files: Files, breaking: bool
) -> None:
    assert committed(built, message, files).breaking is breaking


def test_messages_and_names_in_any_encoding_are_text(built: Built) -> None:
    built.commit("Add größe".encode("latin-1"), source(2), author=("J\udcf6rg", "j@example.org"))
    built.commit("Add \u4e2d\u6587".encode(), {"tool/\u4e2d.py": "x = 1\n", b"tool/\xff\xfe.py": "x = 1\n"})
    built.commit(
        b"Add \x00 nul and \xff\xfe\n\nText\r\nwith returns\r\n", {"tool/new\nline.py": "x = 1\n", "tool/tab\t.py": "x"}
    )
    found = built.facts()
    assert {"Add größe", "Add \u4e2d\u6587"} <= set(texts(found.changes))
    assert {one.name for one, _ in found.contributors} == {"Ann", "Jörg"}
    for commit in found.commits.values():
        assert "\0" not in commit.subject + commit.body
        (commit.subject + commit.body + commit.author.name).encode()


def test_links_submodules_and_big_files_are_counted_and_not_read(built: Built) -> None:
    built.put("link.py", "tool/a.py", 0o120000)
    built.link("vendor/sub", "1" * 40)
    built.commit("Add data", {"data.bin": b"\0" * 5_000_000, "huge.py": "x = 1\n" * 400_000})
    built.link("vendor/sub", "2" * 40)
    built.commit("Move the submodule", {"tool/a.py": "x = 2\n"})
    built.put("tool/a.py", "other.py", 0o120000)
    built.commit("Make it a link", {"pyproject.toml": "not toml ["})
    found = built.facts()
    assert len(found.commits) == 3


@pytest.mark.parametrize(
    ("message", "note", "step"),
    [("feat!: remove /v1\n\nMigration: call /v2.", None, "call /v2."),
     ("feat!: faster pool", None, None), ("Remove `Pool.x`\n\nIt was tested by a mock instead.", None, None),
     ("feat: new\n\nFaster.\n\nBREAKING CHANGE: `p` is gone,\nuse `q`.\nMigration: none\n\nSigned-off-by: A <a@b.c>",
      "`p` is gone, use `q`.", "none"),
     ("feat: new\n\n## Breaking changes\n\n- `y` is gone\n- `z` too\n\n## Tests\n\n- many",
      "- `y` is gone\n- `z` too", None),
     ("feat: new\n\nBreaking change: `y` is gone\nand `z`.\n\nFaster.", "`y` is gone\nand `z`.", None),
     ("feat: new\n\n- [x] Breaking change\n- [x] Tests", None, None)],
)  # fmt: skip
def test_notes_and_steps_are_what_somebody_wrote(
    built: Built, message: str, note: str | None, step: str | None
) -> None:
    change = committed(built, message, {**source(2), "docs/a.md": "x"})
    assert (change.breaking_note or None, change.migration) == (note, step)


def test_known_issues_are_those_that_the_changelog_names(built: Built) -> None:
    text = "# Changelog\n\n## 2.0\n\n### Known issues\n\n- Slow on Windows.\n\n"
    sha = built.commit("Write it down", {**source(2), "CHANGELOG.md": text})
    assert [(issue.text, issue.commits) for issue in built.facts().known_issues] == [("Slow on Windows", (sha,))]


ODD = [
    *(("CHANGELOG.md", text) for text in ("- " * 50_000, "#" * 100_000, "* x\n" * 20_000, "=\n" * 20_000)),
    ("CHANGELOG.md", "- **breaking**\n" * 3_000), ("CHANGELOG.md", "\0"),
    *((".mailmap", text) for text in (b"\xff\xfe <a@b", "<" * 50_000, "a <b> <c> <d>\n" * 2_000, "\0")),
]  # fmt: skip
PIECES = ["a: ", "(", "#1 ", "[x](y) ", "no longer ", "`", "BREAKING CHANGE: ", "\n\n- ", "ééé", "* feat: x\n"]


@pytest.mark.parametrize(
    ("message", "path", "text"),
    [*(("Write", *each) for each in ODD),
     *((piece * (size // len(piece)), "a.py", "1") for piece in PIECES for size in (10, 200_000))],
)  # fmt: skip
def test_long_and_odd_texts_do_no_harm_and_take_no_time(built: Built, message: str, path: str, text: str) -> None:
    built.commit("Begin", {"CHANGELOG.md": "# Changelog\n\n## 1.0\n\n- Begin\n"})
    built.commit(f"{message}\n\n{message}", {path: text, **source(2)})
    found = built.facts()
    assert found.contributors
    assert all(len(change.text) <= 400 and len(change.details) <= 4_000 for change in found.changes)
