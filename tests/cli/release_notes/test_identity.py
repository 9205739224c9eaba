from pathlib import Path

import pytest

from cli.release_notes.web import Web, web_address
from tests.cli.release_notes.repositories import Built, begun
from tests.cli.release_notes.test_kinds import notes


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = begun(tmp_path / "tool.git", {"pyproject.toml": '[project]\nname = "loom"\nversion = "1.0"\n'})
    made.commit("Add thing")
    return made


@pytest.mark.parametrize(
    ("remote", "commits"),
    [("https://ann:s3cret@github.com/a/b", "https://github.com/a/b/commit"),
     ("git@github.com:a/b.git", "https://github.com/a/b/commit"),
     ("ssh://git@gitlab.example.org:2222/g/sub/b.git", "https://gitlab.example.org/g/sub/b/-/commit"),
     ("https://bitbucket.org/a/b", "https://bitbucket.org/a/b/commits"),
     *((unknown, None) for unknown in ("work:a/b.git", "git@git.example.org:a/b.git", "https://[::1]:8443/a.git", "")),
     *((unfit, None) for unfit in ("file:///srv/git/a.git", "C:\\git\\a", "https://github.com/a<script>",
       "javascript://github.com/%0aalert(1)", "https://[::1/a", "https://example.org/x"))],
)  # fmt: skip
def test_a_commit_is_linked_where_the_host_is_known_and_else_named(remote: str, commits: str | None) -> None:
    sha = "0" * 40
    assert Web.of(web_address(remote), [sha]).commit(sha) == (
        f"[`0000000`]({commits}/{sha})" if commits else "`0000000`"
    )


def test_the_page_and_the_comparison_come_from_the_remote(built: Built) -> None:
    built.repository.remotes.create("backup", "/srv/backup.git")
    built.repository.remotes.create("origin", "git@github.com:weavers/loom.git")
    head = built.facts().newer.sha
    assert f"(https://github.com/weavers/loom/compare/v1...{head})" in notes(built)
    built.tag("v2")
    assert "(https://github.com/weavers/loom/compare/v1...v2)" in notes(built)


def test_the_version_is_the_given_one_then_the_tag_then_the_manifest(built: Built) -> None:
    assert built.facts().version == "Unreleased"
    built.commit("Bump", {"pyproject.toml": '[project]\nname = "loom"\nversion = "1.1"\n'})
    assert built.facts().version == "1.1"
    for tag in ("latest", "v2.0.0-rc.1", "v2.0.0", "v1.9.0"):
        built.tag(tag)
    assert built.facts().version == "v2.0.0"
    assert built.facts("v1", "v1.9.0").version == "v1.9.0"
    assert built.facts("v1", "latest").version == "latest"
    given = built.facts("v1", "v2.0.0", " The\nbig one ")
    assert given.version == "The big one"
