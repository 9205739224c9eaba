import json
from pathlib import Path

import pytest

from cli.release_notes.git.address import compare_address, name_in, web_address, without_credentials
from tests.cli.release_notes.repositories import ANN, BOB, Built, begun


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = begun(tmp_path / "tool.git", {"pyproject.toml": '[project]\nname = "loom"\nversion = "1.0"\n'})
    made.commit("Add thing")
    return made


@pytest.mark.parametrize(
    ("remote", "web"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("https://ann:s3cret@github.com/a/b", "https://github.com/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@gitlab.example.org:2222/g/sub/b.git", "https://gitlab.example.org/g/sub/b"),
        ("git://codeberg.org/a/b/", "https://codeberg.org/a/b"),
        ("git@ssh.dev.azure.com:v3/org/project/repo", "https://dev.azure.com/org/project/_git/repo"),
        ("ssh://git@ssh.dev.azure.com:22/v3/org/project/repo", "https://dev.azure.com/org/project/_git/repo"),
        ("org@vs-ssh.visualstudio.com:v3/org/project/repo", "https://dev.azure.com/org/project/_git/repo"),
        ("ssh://git@ssh.github.com:443/a/b.git", "https://github.com/a/b"),
        ("ssh://git@altssh.gitlab.com:443/g/sub/b.git", "https://gitlab.com/g/sub/b"),
        ("git@github.com-work:a/b.git", "https://github.com/a/b"),
        ("git+ssh://git@codeberg.org/a/b", "https://codeberg.org/a/b"),
        ("git@salsa.debian.org:team/b.git", "https://salsa.debian.org/team/b"),
        ("work:a/b.git", None),
        ("gitlab:a/b.git", None),
        ("git@git.example.org:a/b.git", None),
        ("ssh://git@git.example.org/srv/git/b.git", None),
        ("git@bitbucket.example.org:7999/a/b.git", None),
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b"),
        ("http://127.0.0.1:8080/a.git", "http://127.0.0.1:8080/a"),
        ("https://[::1]:8443/a.git", "https://[::1]:8443/a"),
        ("/srv/git/a.git", None),
        ("file:///srv/git/a.git", None),
        ("../a.git", None),
        ("C:\\git\\a", None),
        ("C:/git/a", None),
        ("", None),
        ("https://exa mple.org/a", None),
        ("https://example.org/a<script>", None),
        ("https://example.org/a)[x](javascript:y", None),
        ("javascript://x/%0aalert(1)", None),
        ("https://[::1/a", None),
        ("https://example.org:99999/a", None),
    ],
)
def test_a_remote_becomes_a_page_or_nothing(remote: str, web: str | None) -> None:
    assert web_address(remote) == web


@pytest.mark.parametrize(
    ("web", "link"),
    [
        ("https://github.com/a/b", "https://github.com/a/b/compare/v1%231...v2"),
        ("https://gitlab.com/a/b", "https://gitlab.com/a/b/-/compare/v1%231...v2"),
        ("https://bitbucket.org/a/b", "https://bitbucket.org/a/b/branches/compare/v2%0Dv1%231"),
        ("https://codeberg.org/a/b", "https://codeberg.org/a/b/compare/v1%231...v2"),
        ("https://gitlab.example.org/g/sub/b", "https://gitlab.example.org/g/sub/b/-/compare/v1%231...v2"),
        ("https://salsa.debian.org/a/b", "https://salsa.debian.org/a/b/-/compare/v1%231...v2"),
        ("https://gitea.example.org/a/b", "https://gitea.example.org/a/b/compare/v1%231...v2"),
        ("https://github.example.org/a/b", "https://github.example.org/a/b/compare/v1%231...v2"),
        ("https://dev.azure.com/o/p/_git/b",
         "https://dev.azure.com/o/p/_git/b/branchCompare?baseVersion=GTv1%231&targetVersion=GTv2"),
        ("https://git.sr.ht/~a/b", None),
        ("https://git.example.org/a/b", None),
        ("https://notgithubatall.org/a/b", None),
        (None, None),
    ],
)  # fmt: skip
def test_two_versions_are_compared_where_the_host_is_known(web: str | None, link: str | None) -> None:
    assert compare_address(web, "v1#1", "v2") == link


def test_azure_is_told_commits_from_tags() -> None:
    link = compare_address("https://dev.azure.com/o/p/_git/b", "a" * 40, "v2")
    assert link == f"https://dev.azure.com/o/p/_git/b/branchCompare?baseVersion=GC{'a' * 40}&targetVersion=GTv2"


@pytest.mark.parametrize(
    ("remote", "name"),
    [("work:a/b.git", "b"), ("ssh://git@git.example.org/srv/b.git", "b"), ("https://h.org/b/", "b"), ("/srv/b", None)],
)
def test_a_project_is_called_as_its_remote_calls_it(remote: str, name: str | None) -> None:
    assert name_in(remote) == name


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a:b@h.org/x?token=1#y", "https://h.org/x"),
        ("git@h.org:x", "git@h.org:x"),
        ("ssh://a@h:1/x", "ssh://h:1/x"),
        ("http://a:b@[h", "http://[h"),
    ],
)
def test_addresses_are_shown_without_secrets(url: str, shown: str) -> None:
    assert without_credentials(url) == shown


def test_the_page_and_the_comparison_come_from_the_remote(built: Built) -> None:
    built.repository.remotes.create("backup", "/srv/backup.git")
    built.repository.remotes.create("origin", "git@github.com:weavers/loom.git")
    found = built.facts()
    assert found.remote_url == "https://github.com/weavers/loom"
    assert found.compare_url == f"https://github.com/weavers/loom/compare/v1...{found.to_sha}"
    built.tag("v2")
    assert (built.facts().compare_url or "").endswith("v1...v2")


def test_without_a_remote_there_is_no_page(built: Built) -> None:
    found = built.facts()
    assert (found.remote_url, found.compare_url, found.project_name) == (None, None, "loom")


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


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("package.json", json.dumps({"name": "@a/loom"}), "@a/loom"),
        ("Cargo.toml", '[package]\nname = "loom"\n', "loom"),
        ("go.mod", "module example.org/weavers/loom/v2\n", "loom"),
        ("pyproject.toml", '[tool.poetry]\nname = "loom"\n', "loom"),
        ("package.json", "[1]", "tool"),
        ("pyproject.toml", "project = 3\n", "tool"),
        ("package.json", "{", "tool"),
    ],
)
def test_the_project_is_called_what_its_manifest_says(tmp_path: Path, path: str, text: str, name: str) -> None:
    built = begun(tmp_path / "tool.git")
    built.commit("Add manifest", {path: text})
    found = built.facts()
    assert found.project_name == name
    assert [(file.path, file.text) for file in found.project_files] == [(path, text)]


def test_manifests_are_those_of_the_newer_end_and_of_the_root(built: Built) -> None:
    built.put("Makefile", "Dockerfile", 0o120000)
    built.commit("Add files", {"Dockerfile": "FROM x\n", "uv.lock": "y\n", "sub/package.json": "{}", "setup.py": b"\0"})
    assert [(file.path, file.text[:4]) for file in built.facts().project_files] == [
        ("Dockerfile", "FROM"), ("pyproject.toml", "[pro"),
    ]  # fmt: skip


def test_contributors_are_people_counted_once_each(built: Built) -> None:
    built.commit("One", author=BOB)
    built.commit("Two\n\nCo-authored-by: Cy <cy@example.org>", author=("Bob", "bob@work.example"))
    built.commit("Three", author=("Cy", "12+cy@users.noreply.github.com"))
    built.commit("Four", author=("renovate[bot]", "29139614+renovate[bot]@users.noreply.github.com"))
    built.commit("Five\n\nCo-authored-by: Claude Opus 4.5 <noreply@anthropic.com>")
    found = built.facts()
    assert [(one.person.name, one.commits, one.is_new) for one in found.contributors] == [
        ("Ann", 2, False), ("Bob", 2, True), ("Cy", 2, True),
    ]  # fmt: skip
    assert [one.person.name for one in found.bots] == ["Claude Opus 4.5", "renovate[bot]"]
    assert all(one.person.is_bot for one in found.bots)


def test_the_mailmap_says_who_is_who(built: Built) -> None:
    built.commit(
        "Map",
        {
            ".mailmap": "Ann Weaver <ann@weavers.example> <ann@example.org>\n"
            "Robert <bob@example.org> Bob <BOB@old.example>\n"
        },
    )
    built.commit("One\n\nCo-authored-by: bob <bob@example.org>", author=("Bob", "bob@old.example"))
    found = built.facts()
    assert [(one.person.name, one.person.email, one.commits, one.is_new) for one in found.contributors] == [
        ("Ann Weaver", "ann@weavers.example", 2, False), ("Robert", "bob@example.org", 1, True),
    ]  # fmt: skip


@pytest.mark.parametrize("text", [b"\xff\xfe <a@b", "<" * 50_000, "a <b> <c> <d>\n" * 2_000, "\0"])
def test_an_odd_mailmap_does_no_harm(built: Built, text: str | bytes) -> None:
    built.commit("Map", {".mailmap": text}, author=ANN)
    assert built.facts().contributors


@pytest.mark.parametrize(
    "name", ["Talbot", "Abbott Smith", "Robot Heart", "Botond", "Claude Monet", "Claude", "Jules", "Devin", "Al Amp"]
)
def test_people_with_names_like_that_are_people(built: Built, name: str) -> None:
    built.commit("One", author=(name, "x@example.org"))
    assert name in [one.person.name for one in built.facts().contributors]
