from pathlib import Path

import pytest

from tests.cli.release_notes.repositories import Built, begun

OLD = "# Changelog\n\n## 1.0\n\n- Begin\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return begun(tmp_path, {"CHANGELOG.md": OLD, "tool/__init__.py": "", "tool/a.py": "x = 1\n"})


def source(number: int) -> dict[str | bytes, str | bytes | None]:
    return {"tool/a.py": f"x = {number}\n"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("CHANGELOG.md", "# Changelog\n\n## Breaking changes\n\n- Configuration files are now [TOML](x).\n"),
        ("docs/changelog.rst", "2.0\n---\n\n- **Breaking change**: Configuration files are now `TOML <x>`_.\n"),
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


def test_known_issues_are_read_from_the_changelog(built: Built) -> None:
    text = "# Changelog\n\n## 2.0\n\n### Known issues\n\n- Slow on Windows.\n\n"
    sha = built.commit("Write it down", {"CHANGELOG.md": text + OLD})
    assert [(issue.text, issue.commits) for issue in built.facts().known_issues] == [("Slow on Windows", (sha,))]


@pytest.mark.parametrize(
    "text", ["- " * 50_000, "#" * 100_000, "* x\n" * 20_000, "=\n" * 20_000, "- **breaking**\n" * 3_000, "\0"]
)
def test_an_odd_changelog_does_no_harm(built: Built, text: str) -> None:
    built.commit("Write it down", {"CHANGELOG.md": text, **source(2)})
    assert built.facts().changes is not None
