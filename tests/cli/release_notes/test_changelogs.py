from pathlib import Path

import pytest

from tests.cli.release_notes.repositories import Built, begun

OLD = "# Changelog\n\n## 1.0\n\n- Begin\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return begun(tmp_path, {"CHANGELOG.md": OLD, "tool/__init__.py": "", "tool/a.py": "x = 1\n"})


def source(number: int) -> dict[str | bytes, str | bytes | None]:
    return {"tool/a.py": f"x = {number}\n"}


def test_what_the_changelog_names_counts_for_more(built: Built) -> None:
    built.commit("Allow wide tables", source(2))
    named = built.commit("Allow narrow columns", source(3))
    built.commit(
        "docs",
        {
            "CHANGELOG.md": OLD.replace(
                "## 1.0", "## 2.0\n\n### Added\n\n- Narrow columns are allowed in tables.\n\n## 1.0"
            )
        },
    )
    found = {change.commits: change for change in built.facts().changes}
    assert found[(named,)].impact > max(change.impact for commits, change in found.items() if commits != (named,))


def test_an_entry_is_matched_by_its_number(built: Built) -> None:
    sha = built.commit("Rework internals (#41)", source(2))
    built.commit(
        "docs",
        {
            "CHANGELOG.md": OLD.replace(
                "## 1.0", "## 2.0\n\n### Backwards-incompatible\n\n- `load()` needs a path. #41\n\n## 1.0"
            )
        },
    )
    change = next(change for change in built.facts().changes if change.commits == (sha,))
    assert (change.breaking, change.breaking_note) == (True, "load() needs a path. #41")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("CHANGELOG.md", "# Changelog\n\n## Breaking changes\n\n- Configuration files are now [TOML](x).\n"),
        (
            "docs/changelog.rst",
            "Changes\n=======\n\n2.0\n---\n\n- **Breaking change**: Configuration files are now `TOML <x>`_.\n",
        ),
        ("HISTORY.txt", "* Breaking: Configuration files are now TOML.\n"),
        ("newsfragments/12.breaking.md", "Configuration files are now TOML.\n"),
    ],
)
def test_a_break_that_no_message_tells_of_is_taken_from_the_changelog(built: Built, path: str, text: str) -> None:
    built.commit("Refactor", source(2))
    sha = built.commit("Write it down", {path: text})
    change = next(change for change in built.facts().changes if change.breaking)
    assert "Configuration files are now TOML" in change.text
    assert change.commits == (sha,)


def test_old_lines_of_a_changelog_say_nothing_of_this_release(built: Built) -> None:
    built.commit("Add b", {"CHANGELOG.md": OLD + "\n## 0.9\n\n- Something\n", "tool/a.py": "x = 2\n"})
    built.tag("v2")
    built.commit("Fix words", {"CHANGELOG.md": OLD + "\n## 0.9\n\n- Something\n\n"})
    assert not [change for change in built.facts("v2").changes if change.breaking]


@pytest.mark.parametrize(
    "text",
    [
        "## 2.0\n\n### Breaking changes\n\n- `old()` is gone\n\n### Fixed\n\n- {}\n",
        "## 2.0\n\n**Breaking changes**\n\n- `old()` is gone\n\n**Fixed**\n\n- {}\n",
        "2.0\n---\n\nBreaking changes\n~~~~~~~~~~~~~~~~\n\n- ``old()`` is gone\n\nFixed\n~~~~~\n\n- {}\n",
        "## 2.0\n\n- **Breaking changes**\n  - `old()` is gone\n- {}\n",
        "## 2.0\n\n### Breaking: no\n\n#### Breaking\n\n- `old()` is gone\n\n### No breaking changes in\n\n- {}\n",
        "## 2.0\n\n### Breaking changes\n\n#### API\n\n- `old()` is gone\n\n### Fixed\n\n- None.\n- {}\n",
    ],
)
def test_what_follows_the_breaking_changes_of_a_changelog_is_not_breaking(built: Built, text: str) -> None:
    fix = "Narrow columns keep their width"
    built.commit(fix, source(2))
    built.commit("Write it down", {"CHANGELOG.md": "# Changelog\n\n" + text.format(fix)})
    assert [change.text for change in built.facts().changes if change.breaking] == ["old() is gone"]


@pytest.mark.parametrize("line", ["None.", "No breaking changes.", "Nothing"])
def test_that_nothing_breaks_is_no_break(built: Built, line: str) -> None:
    built.commit("Write it down", {"CHANGELOG.md": f"# Changelog\n\n## 2.0\n\n### Breaking changes\n\n- {line}\n"})
    assert not [change.text for change in built.facts().changes if change.breaking]


@pytest.mark.parametrize("line", ["Breaking changes come first in lists", "Breaking news are shown"])
def test_a_line_that_speaks_of_breaking_is_no_break(built: Built, line: str) -> None:
    built.commit("Write it down", {"CHANGELOG.md": f"# Changelog\n\n## 2.0\n\n### Added\n\n- {line}\n"})
    assert not [change.text for change in built.facts().changes if change.breaking]


def test_known_issues_are_read_from_the_changelog(built: Built) -> None:
    sha = built.commit(
        "Write it down", {"CHANGELOG.md": "# Changelog\n\n## 2.0\n\n### Known issues\n\n- Slow on Windows.\n\n" + OLD}
    )
    assert [(issue.text, issue.commits) for issue in built.facts().known_issues] == [("Slow on Windows", (sha,))]


@pytest.mark.parametrize(
    ("message", "text"),
    [("Write it down", "# Changelog\n\n## 2.0\n\n### Known issues\n\n- None.\n"),
     ("Add b\n\nKnown issues: none", "x"), ("Known issue: none", "x")],
)  # fmt: skip
def test_that_no_issues_are_known_is_no_known_issue(built: Built, message: str, text: str) -> None:
    built.commit(message, {"CHANGELOG.md": text})
    assert not built.facts().known_issues


@pytest.mark.parametrize(
    "text", ["- " * 50_000, "#" * 100_000, "* x\n" * 20_000, "=\n" * 20_000, "- **breaking**\n" * 3_000, "\0"]
)
def test_an_odd_changelog_does_no_harm(built: Built, text: str) -> None:
    built.commit("Write it down", {"CHANGELOG.md": text, **source(2)})
    assert built.facts().changes is not None
