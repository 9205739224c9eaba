"""Kinds of faults that made notes wrong, each by a tiny repository and the notes that the command writes of it."""

import re
from pathlib import Path

import pytest

from cli.release_notes.configuration import PRESETS, PresetName
from cli.release_notes.notes import Focus, write_notes
from cli.release_notes.update import merged
from tests.cli.release_notes.repositories import BOB, Built, Files, begun
from tests.cli.release_notes.test_document import part

SOURCE: Files = {"src/a.py": "x = 2\n"}


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return begun(tmp_path / "tool.git", {"src/a.py": "x = 1\n"})


def notes(built: Built, older: str = "v1", newer: str = "HEAD", preset: PresetName = PresetName.DEFAULT) -> str:
    found = built.facts(older, newer, interfaces=preset is PresetName.TECHNICAL)
    return write_notes(found, PRESETS[preset], Focus())


def items(built: Built, heading: str, older: str = "v1") -> list[str]:
    lines = part(notes(built, older), heading).splitlines()
    return [re.sub(r" \([^()]*\)$", "", line[2:]) for line in lines if line.startswith("- ")]


def test_a_list_in_a_squashed_pull_request_reverts_nothing(built: Built) -> None:
    built.commit('Require Ruby 4 (#5)\n\n* raise it\n* Revert "a shim"\n\nThis reverts commit 0123456789abc.', SOURCE)
    assert items(built, "Breaking changes") == ["**Require Ruby 4**"]
    assert "Reverted" not in notes(built)


@pytest.mark.parametrize(
    ("subject", "said"),
    [("fix(pool): really close #310", "**pool:** Really close #310"),
     ("fix: hang on issue #31", "Hang on issue #31"),
     ("Split the lexer in two to fix #9", "Split the lexer in two to fix #9"),
     ("fix: npm ci hangs", "npm ci hangs"), ("fix: don't hang", "Don't hang"),
     ("fix: `-V` prints (more)", "`-V` prints (more)"),
     ("Fix `-q` to hide the banner (#41)", "Fix `-q` to hide the banner"),
     ("解析【a:b/c;d,】形式的地址 (#36)", "解析【a:b/c;d,】形式的地址")],
)  # fmt: skip
def test_a_subject_is_told_whole_and_nothing_objects_to_it(built: Built, subject: str, said: str) -> None:
    built.commit(subject, SOURCE)
    assert said in [*items(built, "Fixes"), *items(built, "Improvements")]


def test_fixes_of_different_issues_stay_different_lines_with_their_numbers(built: Built) -> None:
    for number in (101, 102):
        built.commit(f"fix leak of issue #{number} (#{number + 100})", {"src/a.py": f"x = {number}\n"})
    assert items(built, "Fixes") == ["Fix leak of issue #102", "Fix leak of issue #101"]
    assert "(#201, #101, `" in notes(built)


def test_words_of_code_that_nobody_documents_break_nothing(built: Built) -> None:
    built.commit("lexer: drop lex_peek()\n\nNobody calls it any more.", {"lex.c": "int y;"})
    built.commit("Remove checks before `lex_end`", {"lex.c": "int z;", "docs/lexer.md": "Lexers."})
    built.commit("Deprecate Old", {"src/pkg/__init__.py": "def __getattr__(name): ...\n", "src/pkg/core.py": "b = 1\n"})
    built.commit("Begin", {"cmd.go": 'c.Flags().BoolP("help", "h", false, u)\n'})
    built.commit("Write help", {"cmd.go": 'const name = "help"\nc.Flags().BoolP(name, "h", false, u)\n'})
    assert items(built, "Breaking changes") == [], "also no name that is served otherwise"
    assert part(notes(built), "Migration guide") == "Nobody wrote down any steps."


def test_a_parameter_that_goes_is_told_to_developers_alone(built: Built) -> None:
    for name in ("c", "_hidden", "told"):
        built.put(f"src/pkg/{name}.py", f"def get(url, {name}_proxies=None): ...\n")
    built.commit("Begin", {"src/pkg/bad.py": "def get("})
    built.tag("v2")
    built.commit("feat!: take no told_proxies", {"src/pkg/told.py": "def get(url): ...\n"})
    gone = {f"src/pkg/{name}.py": "def get(url): ...\n" for name in ("c", "_hidden", "bad")}
    sha = built.commit("Clean up get", gone)
    shown = notes(built, "v2", preset=PresetName.TECHNICAL)
    assert part(shown, "Breaking changes").splitlines()[1:] == [
        f"- **`c.get()` no longer takes `c_proxies`** (`{sha[:7]}`)"
    ]
    assert "c_proxies" not in notes(built, "v2")


OLD = "# 2.0\n\n- fix: x\n\n# 1.0\n\n- **breaking:**: `f` has been removed\n"


def test_old_entries_that_were_reformatted_or_moved_are_not_of_this_release(built: Built) -> None:
    built.commit("Begin", {"CHANGELOG.md": OLD})
    built.tag("v2")
    newer = "# 2.1\n\n- fixed: y\n\n" + OLD.replace(":**:", ":**")
    built.commit("Fix y", {"CHANGELOG.md": newer, **SOURCE})
    assert items(built, "Breaking changes", "v2") == []
    assert items(built, "Fixes", "v2") == ["Y"]
    built.tag("v3")
    at = newer.index("# 1.0")
    built.commit("Split the changelog", {"CHANGELOG.md": newer[:at], "changelogs/CHANGELOG-1.md": newer[at:]})
    assert items(built, "Breaking changes", "v3") == []


def test_what_the_command_wrote_into_a_file_is_nobodys_own_words(built: Built) -> None:
    built.commit("feat!: drop rows\n\nUse pools instead.", SOURCE)
    steps = part(notes(built), "Migration guide")
    built.commit("Write notes", {"RELEASE_NOTES.md": merged(b"", notes(built), "2.0", "")[0]})
    assert part(notes(built), "Migration guide") == steps
    assert "Use pools instead" in steps


@pytest.mark.parametrize(
    ("path", "heading", "fence"),
    [("CHANGELOG.md", "## 2.0\n\n### Breaking", "    ````text\n    - import pools\n    ````\n"),
     ("CHANGES.rst", "2.0\n---\n\nBreaking\n~~~~~~~~", "  Like this::\n\n    - import pools\n    - use pools\n")],
)  # fmt: skip
def test_code_in_an_entry_is_no_entry(built: Built, path: str, heading: str, fence: str) -> None:
    built.commit("Show fixes", {path: f"{heading}\n\n- Hints are printed:\n\n{fence}", **SOURCE})
    (only,) = items(built, "Breaking changes")
    assert only.startswith("**Hints are printed")


def test_the_heading_of_a_template_is_no_text(built: Built) -> None:
    built.commit("Add `--watch` (#7)\n\nAbout\n--\n\nThis runs it again when a file changes.", SOURCE)
    assert items(built, "Highlights") == ["**Add `--watch`.** This runs it again when a file changes."]
    assert items(built, "Features") == [], "said once"


NOISE = ["Loom 3.1.0", "v1.2.3", "Version Packages (#9)", "Bump the copyright to 2031", "4.0.1 init",
         "Squashed 'lib/' changes from 0a0a0a0a0..1b1b1b1b1", "Please the linter", "Bump version to 1.2.0",
         "chore: release 2.0.0", "fixup! Add retries", "Fix a typo in the log", "Fix flaky test",
         "Address review comments", "Update CHANGELOG"]  # fmt: skip
WORK = ["Add a test client", "Format strings lazily", "Release the lock on errors"]


def test_noise_is_counted_in_one_line(built: Built) -> None:
    for number, subject in enumerate([*NOISE, *WORK]):
        built.commit(subject, {"src/a.py": f"x = {number}\n", **({"docs/a.md": subject} if subject in WORK else {})})
    assert len(items(built, "Also changed")) == 1
    listed = [each for heading in ("Features", "Improvements", "Fixes") for each in items(built, heading)]
    assert sorted(listed) == WORK


NONE = "The project's files name no way to install it."
WORKSPACE: Files = {
    "Cargo.toml": '[workspace]\nmembers = ["tool", "macros"]\n', "tool/Cargo.toml": '[package]\nname = "tool"\n',
    "macros/Cargo.toml": '[package]\nname = "tool-macros"\n',
}  # fmt: skip
INSTALLS: dict[str, tuple[Files, str]] = {
    "pnpm": (
        {"package.json": '{"private": true, "version": "3.4.0", "packageManager": "pnpm@8"}',
         "pnpm-workspace.yaml": "packages:\n - packages/*\n",
         "packages/main/package.json": '{"name": "main", "version": "3.4.0"}',
         "packages/part/package.json": '{"name": "@main/part", "version": "3.4.0"}'},
        "pnpm add main@3.4.0"),
    "npm": ({"package.json": '{"name": "@a/main", "version": "3.4.0"}'}, "npm install @a/main@3.4.0"),
    "npm program": ({"package.json": '{"name": "main", "version": "3.4.0", "bin": "x.js"}'},
                    "npm install --global main@3.4.0"),
    "npm private": ({"package.json": '{"name": "x", "private": true}'}, NONE),
    "npm of another version": ({"package.json": '{"name": "x", "version": "1.0.0"}'}, NONE),
    "pip": ({"pyproject.toml": '[project]\nname = "x"\nversion = "3.4.0"'}, "pip install x==3.4.0"),
    "pip private": ({"pyproject.toml": '[project]\nname = "x"\nclassifiers = ["Private :: Do Not Upload"]'},
                    NONE),
    "cargo": (WORKSPACE, "cargo add tool@3.4.0"),
    "cargo program": ({"Cargo.toml": '[package]\nname = "x"\n', "src/main.rs": ""}, "cargo install x@3.4.0"),
    "go": ({"go.mod": "module e.org/x/v3\n\ngo 1.22\n"}, "go get e.org/x/v3@v3.4.0"),
    "poetry": ({"pyproject.toml": '[tool.poetry]\nname = "x"'}, "pip install x==3.4.0"),
    "go program": ({"go.mod": "module e.org/x\n", "main.go": ""}, "go install e.org/x@v3.4.0"),
    "unclear": (
        {"package.json": '{"private": true, "workspaces": ["a", "b"]}', "a/package.json": '{"name": "one"}',
         "b/package.json": '{"name": "two"}'}, NONE),
    "damaged TOML": ({"pyproject.toml": "[project"}, NONE),
    "a name that is a command": ({"package.json": '{"name": "x; rm -rf ~"}'}, NONE),
    "a name of a fence": ({"package.json": '{"name": "x\\n```\\n# Pwned"}'}, NONE),
}  # fmt: skip


@pytest.mark.parametrize(("files", "command"), INSTALLS.values(), ids=INSTALLS)
def test_installing_follows_what_the_project_is(built: Built, files: Files, command: str) -> None:
    built.repository.remotes.create("origin", "https://github.com/a/tool")
    built.commit("feat: one", files)
    built.tag("v3.4.0")
    assert command in part(notes(built, "v1", "v3.4.0"), "Installation")


def test_a_title_names_the_package_of_its_tag_or_the_one_that_the_scope_is_called_after(built: Built) -> None:
    built.commit("feat: one", INSTALLS["pnpm"][0])
    assert notes(built).startswith("# main 3.4.0\n")
    built.commit("feat: two", WORKSPACE)
    built.tag("tool-macros-v3.4.0")
    assert notes(built).startswith("# tool-macros v3.4.0\n")
    assert "cargo add tool-macros@3.4.0" in notes(built)


def test_the_body_of_a_merge_says_what_its_topic_is_about(built: Built) -> None:
    base = str(built.head)
    one = built.commit("log: add a clock helper", {"src/a.py": "x = 3\n"}, parents=[base], keep=False)
    two = built.commit("log: use it", {"src/a.py": "x = 4\n"}, parents=[one], keep=False)
    said = "Each line of the log can now begin with the time."
    built.commit(f"Merge branch 'cd/times'\n\n{said}\n\n* cd/times:\n  log: use it", SOURCE, parents=[base, two])
    assert said[:-1] in "\n".join([*items(built, "Improvements"), *items(built, "Features")])
    assert "clock helper" not in notes(built)


def test_fragments_of_changesets_and_towncrier_are_the_projects_words(built: Built) -> None:
    changeset = '---\n"loom": major\n---\n\nRemoved the old shuttle.\n'
    built.commit("tidy (#3)", {".changeset/a-b.md": changeset, ".changeset/README.md": "# Changesets", **SOURCE})
    built.commit("weft (#4)", {"changelog/87.breaking.rst": "Loose threads now fail.", "src/b.py": "x\n"})
    built.commit("pool (#5)", {"newsfragments/9.feature.md": "Pools\nare reused.", "src/c.py": "x\n"})
    assert items(built, "Breaking changes") == ["**Removed the old shuttle**", "**Loose threads now fail**"]
    assert items(built, "Features") == ["Pools are reused"]
    assert "(#3, `" in notes(built)


def test_a_squashed_list_of_several_changes_is_several_entries(built: Built) -> None:
    built.commit("Pools (#12)\n\n* feat: add a pool\n* fix: close it\n* fix: lint\n* chore: tidy", SOURCE)
    assert [items(built, heading) for heading in ("Features", "Fixes")] == [["Add a pool"], ["Close it"]]


def test_people_are_counted_once_each_and_robots_are_none(built: Built) -> None:
    built.commit("Two", {"src/c.py": "x"}, author=BOB)
    built.commit("Three\n\nCo-authored-by: Cy <cy@example.org>", {"src/d.py": "x"}, author=(BOB[0], "b@work.example"))
    built.commit("Four", {"src/e.py": "x"}, author=("Cy", "12+cy@users.noreply.github.com"))
    built.commit("Bump x", {"uv.lock": "1"}, author=("renovate[bot]", "29+renovate[bot]@users.noreply.github.com"))
    built.commit("Five\n\nCo-authored-by: Anthropic Claude Opus 4.5 <ai@example.org>", {"src/f.py": "x"})
    built.commit("fix: a\n\nCo-authored-by: Loom Autofix powered by AI <7+loom@users.noreply.example>", SOURCE)
    built.commit("Bump versions for release of 0.9.0", {"src/b.py": "x\n"}, author=("loomreleaser", "h@example.org"))
    people = part(notes(built), "Contributors")
    assert people.startswith("Thanks to Ann (2 commits), Bob McBride (2 commits) and Cy (2 commits), for ")
    assert not re.search("Claude|Loom|renovate|loomreleaser", people)


CHANGELOGS: dict[str, tuple[str, str, list[str]]] = {
    "keep a changelog": ("## [2.0.0] - 2026-01-01\n\n### Removed\n\n- The `app` argument. (#9)\n\n### Fixed\n\n- It\n",
                         "CHANGELOG.md", ["**The `app` argument**"]),
    "labels": ("# 2.0.0\n\n- **breaking:** Move `Host` ([#9])\n- **added:** Pools\n", "CHANGELOG.md",
               ["**Move `Host`**"]),
    "flat": ("Version 2.0\n-----------\n\n-   Drop `Python <x>`_ 3.8 in :ref:`pools <y>` (:ref:`z`). :pr:`9`\n",
             "CHANGES.rst", ["**Drop Python 3.8 in pools**"]),
    "deprecations": ("## 2.0\n\n### Deprecations (removal in 3.0)\n\n- `app` is deprecated.\n", "CHANGELOG.md", []),
    "none": ("## 2.0\n\n### Breaking changes\n\n- None\n", "CHANGELOG.md", []),
    "a file for each version": ("# Tool 2.0 release notes\n\n## Backwards incompatible changes\n\n- `app` is gone\n",
                                "docs/releases/2.0.md", ["**`app` is gone**"]),
    "bold label": ("## 2.0\n\n- **BREAKING** Move it\n- Drop it (**breaking**)\n- Breaking up words\n", "CHANGELOG.md",
                   ["**Move it**", "**Drop it**"]),
    "a paragraph above a list": ("## 2.0\n\n### Breaking changes\n\nSee also below.\n\nAll of it:\n\n- `app` is gone\n",
                                 "CHANGELOG.md", ["**`app` is gone**"]),
    "a file for what breaks": ("## 2.0\n\n- Files go elsewhere\n", "BREAKING_CHANGES.md", ["**Files go elsewhere**"]),
    "a page about release notes": ("# Release notes\n\n## Breaking changes\n\n- How they are found\n",
                                   "docs/guide/release-notes.md", []),
    "another version": ("## 1.9\n\n### Breaking changes\n\n- Gone\n\n## 2.0\n", "CHANGELOG.md", []),
}  # fmt: skip


def test_the_sentence_that_breaks_leads_and_what_a_tool_updated_is_no_entry(built: Built) -> None:
    text = "## 2.0.0\n\n- Set up the help option. Removes `HelpOption`.\n- Updated dependencies [0000000]\n"
    built.commit("Ensure that rows are short. #4 (#5)", {"src/b.py": "x"})
    built.commit("Help", {"CHANGELOG.md": f"{text}- Rows are short (#4)\n", **SOURCE})
    assert items(built, "Breaking changes") == ["**Removes `HelpOption`.** Set up the help option."]
    assert not re.search("Updated dep|Ensure", notes(built)), "the number in a subject leads to the entry"


def test_highlights_are_described_however_many_features_there_are(built: Built) -> None:
    one = "## 2.0.0\n\n### Added\n\n- Pools\n"
    built.commit("Write", {"CHANGELOG.md": one, **SOURCE})
    assert part(notes(built), "Highlights") == "No single change stands out."
    built.tag("v2.0.0")
    many = "".join(f"- Pool {number} (#{number})\n" for number in range(1, 8))
    built.commit("feat: wide (#7)", {f"src/{number}.py": "x" for number in range(9)})
    built.commit("Write", {"CHANGELOG.md": one.replace("2.0.0", "3.0.0").replace("- Pools\n", many) + "\n" + one})
    assert part(notes(built, "v2.0.0"), "Highlights") == "No single change stands out."
    assert notes(built, "v2.0.0").count("\n- Pool ") == 7
    built.tag("v3.0.0")
    built.commit("Write", {"CHANGELOG.md": f"## 4.0.0\n\n- Flags:\n\n  - one\n  - two\n  - see:\n\n{one}", **SOURCE})
    assert part(notes(built, "v3.0.0"), "Highlights").splitlines()[2:] == ["  - one", "  - two"]


def test_an_entry_twice_in_a_generated_changelog_is_told_once_with_its_commit(built: Built) -> None:
    built.commit("Begin", {"CHANGELOG.md": "## 1.0.0\n\n* old\n"})
    built.tag("v1.0.0")
    sha = built.commit("feat(api)!: drop v1 (#3)", SOURCE)
    text = "## 2.0.0\n\n### \u26a0 BREAKING CHANGES\n\n* **api:** drop v1\n\n### Features\n\n"
    text += f"* **api:** drop v1 ([#3](u)) ([{sha[:7]}](u))\n"
    built.commit("chore(main): release 2.0.0 (#8)", {"CHANGELOG.md": f"{text}\n## 1.0.0\n\n* old\n"})
    (broken,) = [change for change in built.facts("v1.0.0").changes if change.breaking]
    assert (broken.text, broken.commits, broken.pull_request) == ("drop v1", (sha,), "#3")
    assert items(built, "Features", "v1.0.0") == []


@pytest.mark.parametrize(("text", "path", "broken"), CHANGELOGS.values(), ids=CHANGELOGS)
def test_sections_of_this_version_decide_what_breaks(built: Built, text: str, path: str, broken: list[str]) -> None:
    old = "## 1.9.5\n\n- Begin\n" if path.endswith("md") else "Version 1.9.5\n-------------\n\n-   Begin\n"
    built.commit("Begin", {path: old} if "/" not in path else SOURCE)
    built.tag("v1.9.5")
    built.commit("Work (#9)", {path: f"{text}\n{old}" if "/" not in path else text, "src/b.py": "x\n"})
    assert items(built, "Breaking changes", "v1.9.5") == broken


def test_a_version_that_is_written_down_after_its_release_is_not_the_next_one(built: Built) -> None:
    built.commit("Begin", {"CHANGELOG.md": "## 1.9.4\n\n- Begin\n"})
    built.tag("v1.9.5")
    built.commit("Write", {"CHANGELOG.md": "## 2.0\n- New\n## 1.9.5\n### Removed\n- It\n## 1.9.4\n- Begin\n"})
    assert items(built, "Breaking changes", "v1.9.5") == []
    assert "New" in notes(built, "v1.9.5")


def test_a_raised_platform_of_a_manifest_breaks_and_that_of_a_private_one_does_not(built: Built) -> None:
    for name, private in (("1", ""), ("2", '"private": true, ')):
        for node in (16, 18):
            built.commit("Work", {"package.json": f'{{{private}"name": "x", "engines": {{"node": ">={node}"}}}}'})
            built.tag(f"n{name}-{node}")
    assert [change.text for change in built.facts("n1-16", "n1-18").changes if change.breaking] == [
        "Require Node.js >=18 (before: >=16)"
    ]
    assert not [change for change in built.facts("n2-16", "n2-18").changes if change.breaking]
