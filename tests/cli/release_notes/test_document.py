"""The document: its sections, what each preset makes of them, and what becomes of hostile text."""

import re
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt

from cli.release_notes.critic import Evidence, verified
from cli.release_notes.document.drafting import draft
from cli.release_notes.document.markdown import render
from cli.release_notes.document.model import Table
from cli.release_notes.document.presets import PRESETS, PresetName
from cli.release_notes.facts import Area, Contributor, DependencyChange, ProjectFile, ReleaseFacts, SurfaceChange
from cli.release_notes.focus import Focus
from tests.cli.release_notes.making import ADA, BOT, CHANGES, change, commit, facts, sha
from tests.tools.text.test_inline import HOSTILE

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HEADINGS = [
    "Overview", "Highlights", "What's new", "Breaking changes", "Migration guide", "Installation", "Known issues",
    "Contributors", "Full changelog",
]  # fmt: skip


def notes(known: ReleaseFacts | None = None, preset: PresetName = PresetName.DEFAULT, **changed: Any) -> str:
    shape = PRESETS[preset]
    return render(draft(known or facts(**changed), shape, Focus()), shape)


def part(markdown: str, heading: str) -> str:
    """The lines of a section, those of its parts included."""
    found = re.search(rf"^(##+) {re.escape(heading)}\n(.*?)(?=^\1 |^## |\Z)", markdown, re.M | re.S)
    assert found, heading
    return found[2].strip()


@pytest.mark.parametrize("preset", PresetName)
def test_every_section_is_there_in_its_order(preset: PresetName) -> None:
    assert re.findall("^## (.*)", notes(preset=preset), re.M) == HEADINGS


@pytest.mark.parametrize("preset", PresetName)
def test_a_section_without_anything_to_say_says_so_in_one_line(preset: PresetName) -> None:
    only = {sha(1): commit(1, "Nothing")}
    empty = facts(
        commits=only, changes=(), surface=(), dependencies=(), areas=(), contributors=(), bots=(), project_files=()
    )
    markdown = notes(empty, preset)
    for heading in (*HEADINGS, "Features", "Improvements", "Fixes", "Also changed"):
        if heading != "What's new":
            assert len(part(markdown, heading).splitlines()) == 1, heading


def test_presets_differ_visibly() -> None:
    made = {preset: notes(preset=preset) for preset in PresetName}
    assert len(set(made.values())) == len(PresetName)
    assert len(made[PresetName.CONCISE]) < len(made[PresetName.DEFAULT]) < len(made[PresetName.DETAILED])
    assert "It takes 3 threads at least." in made[PresetName.DETAILED]
    assert "| `punch` | `>=1.4` | `>=2.0` |" in made[PresetName.TECHNICAL]
    assert "looms.weave(card, *, threads=3)" not in made[PresetName.DEFAULT]


@pytest.mark.parametrize("preset", PresetName)
def test_every_statement_cites_commits_of_the_range(preset: PresetName) -> None:
    known = facts()
    document = draft(known, PRESETS[preset], Focus())
    assert {each.commits for each in document.statements()}
    for statement in document.statements():
        assert statement.commits
        assert set(statement.commits) <= set(known.commits)
    items = [line for line in render(document, PRESETS[preset]).splitlines() if line.startswith("- ")]
    assert items
    assert all("/commit/" in line for line in items)


def test_what_breaks_says_what_and_what_to_do() -> None:
    markdown = notes()
    assert "Scripts that pass `--shuttle` stop working." in part(markdown, "Breaking changes")
    assert "- Set `LOOM_SHUTTLE` instead." in part(markdown, "Migration guide")
    assert "One change is breaking" in part(markdown, "Overview")


def test_what_breaks_without_steps_and_what_the_diff_needs_is_named() -> None:
    newer = DependencyChange("python", "runtime", "pyproject.toml", ">=3.9", ">=3.11", False, (sha(6),))
    table = SurfaceChange("migration", "added", "db/0002.sql", "db/0002.sql", None, (sha(5),))
    silent = replace(CHANGES[0], breaking=True)
    guide = part(notes(changes=(silent,), surface=(table,), dependencies=(newer,)), "Migration guide")
    assert "Python `>=3.11` is needed; before, it was `>=3.9`" in guide
    assert "The commits name no steps for the breaking change" in guide
    assert "Run the 1 new database migration: `db/0002.sql`" in guide


def test_that_nothing_breaks_is_not_said_where_the_diff_takes_something_away() -> None:
    kept = tuple(each for each in CHANGES if not each.breaking)
    assert part(notes(changes=kept, surface=()), "Breaking changes") == "Nothing is known to break."
    assert part(notes(changes=kept), "Breaking changes").startswith("No commit says that something breaks; the preset")


def test_what_breaks_without_a_note_is_told_by_the_rest_of_its_message() -> None:
    told = change(
        2, "removal", "drop the `--shuttle` flag", breaking=True, migration="Use `--pattern` instead.",
        details="It was read by nobody. Use `--pattern` instead. Remove what read it.\n\nThe reasons:\n\n- one",
    )  # fmt: skip
    markdown = notes(changes=(told,))
    assert part(markdown, "Breaking changes").startswith("- **Drop the `--shuttle` flag.** It was read by nobody. (")
    assert part(markdown, "Migration guide").startswith("- **Drop the `--shuttle` flag.** Use `--pattern` instead. (")


def test_a_sentence_that_leads_to_a_list_is_no_highlight() -> None:
    listing = replace(CHANGES[0], details="What this brings:\n\n- cards\n- bobbins")
    assert "What this brings" not in part(notes(changes=(listing,)), "Highlights")


def test_a_long_list_is_cut_and_says_so() -> None:
    many = tuple(change(number, "fix", f"fix number {number}") for number in range(1, 21))
    known = facts(changes=many, commits={each: commit(n, "x") for n in range(1, 21) for each in [sha(n)]})
    fixes = part(notes(known), "Fixes")
    *listed, rest = fixes.splitlines()
    assert len(listed) == 15
    assert rest.startswith("- … and 5 more, in the full changelog (")
    assert all(sha(number) in rest for number in (16, 17, 18))
    assert rest.endswith(" and 2 more)")
    assert part(notes(known, PresetName.DETAILED), "Fixes").count("Fix number") == 20


@pytest.mark.parametrize("preset", PresetName)
def test_what_is_listed_or_cut_names_commits_and_what_is_counted_the_range(preset: PresetName) -> None:
    shas = [sha(number) for number in range(1, 300)]
    kinds = ("feature", "improvement", "fix", "documentation", "internal")
    known = facts(
        commits={each: commit(number, "x") for number, each in enumerate(shas, start=1)},
        changes=tuple(change(number, kinds[number % 5], f"change {number}") for number in range(1, 300)),
        surface=tuple(SurfaceChange("api", "added", f"m.f{n}()", "m.py", None, (sha(n),)) for n in range(1, 60)),
        dependencies=tuple(DependencyChange(f"d{n}", "x", "y", "1", "2", False, (sha(n),)) for n in range(1, 60)),
        areas=tuple(Area(f"area{number}", 1, 1, 1, 1) for number in range(1, 40)),
        remarks=("Of 2,221 changes of kind api the first 500 are listed.",),
    )
    text = notes(known, preset)
    cited = re.compile(r"/commit/([0-9a-f]{40})")
    listed = [line for line in text.splitlines() if line.startswith(("- ", "| `d"))]
    assert len(listed) > 15
    assert [line for line in listed if not set(cited.findall(line)) & set(shas)] == []
    span = f"[`{sha(0)[:7]}..{sha(8)[:7]}`]({known.compare_url})"
    assert f"in 299 commits ({span})" in part(text, "Overview")
    if preset is PresetName.TECHNICAL:
        assert text.count("… and 19 more (") == 2
        assert f"… and 23 more areas; counted over {span}." in text
        assert f"The diff of {span} has 2,221 changes" in text


def test_a_row_of_a_table_without_a_commit_of_the_range_is_none() -> None:
    foreign = replace(facts().dependencies[0], name="foreign", commits=(sha(99),))
    known = facts(dependencies=(*facts().dependencies, foreign))
    document, _ = verified(draft(known, PRESETS[PresetName.TECHNICAL], Focus()), Evidence(known))
    tables = [each for section in document.sections for each in section.blocks if isinstance(each, Table)]
    rows = [row[0] for table in tables for row in table.rows]
    assert "`punch`" in rows
    assert "`foreign`" not in rows


def test_dependencies_that_were_updated_together_are_counted_each() -> None:
    many = (change(7, "dependency", "Updated 20 dependencies: a 1, b 2, c 3, d 4 and 16 more"), CHANGES[6])
    for preset in (PresetName.DEFAULT, PresetName.CONCISE):
        other = part(notes(changes=many, preset=preset), "Also changed")
        assert other.startswith("- 21 dependency updates (")
        assert sha(7) in other


def test_what_was_taken_back_is_cited() -> None:
    assert sha(8) in part(notes(reverted=CHANGES[7:]), "Full changelog")


def test_that_a_list_was_cut_is_remarked_where_there_is_that_list() -> None:
    known = facts(remarks=("Of 2,221 changes of kind api the first 500 are listed.", "Two files were left out."))
    for preset in PresetName:
        told = part(notes(known, preset), "Full changelog")
        assert "kind api" not in told
        assert "Two files were left out." in told
        assert ("2,221 changes of the public API; 500" in told) is (preset is PresetName.TECHNICAL)


def test_a_crowd_is_named_in_part() -> None:
    crowd = tuple(Contributor(replace(ADA, name=f"Ada {n}"), 2, is_new=n % 3 > 0) for n in range(300))
    for preset in PresetName:
        people = part(notes(contributors=crowd, preset=preset), "Contributors")
        named = PRESETS[preset].people
        assert f" and {300 - named} more, for [`" in people.splitlines()[0]
        if preset is not PresetName.CONCISE:
            assert f" and {200 - named} more: welcome!" in people
        assert people.count("Ada") <= 2 * named


def test_a_full_sha_is_shown_by_its_beginning() -> None:
    markdown = notes(from_ref=sha(0), to_ref=sha(8))
    assert f"since `{sha(0)[:7]}`" in markdown
    assert f"[`{sha(0)[:7]}...{sha(8)[:7]}`](" in markdown


def test_what_a_submodule_is_needed_for_is_not_said() -> None:
    vendor = DependencyChange("vendor/x", "submodule", "vendor/x", "a", "b", False, (sha(7),))
    assert "| `vendor/x` | `a` | `b` |  | submodule |" in notes(dependencies=(vendor,), preset=PresetName.TECHNICAL)


SQUASHED = """\
* Weave patterns with `weave()` from a card

A pattern is read from a card.
Closes #9

* Fix lint

* wip

Address review feedback: rename it.
"""


def test_details_say_what_a_change_does_and_not_how_it_came_about() -> None:
    for details in (
        SQUASHED,
        "A pattern is read from a card.\n\n- Weave patterns with `weave()` from a card\n- Fix tests\n  of it\n- wip\n",
        "Refs #1, https://code.example/x and acme/looms#3\n\nA pattern is read from a card.\n\ncc @bob",
    ):
        markdown = notes(changes=(replace(CHANGES[0], details=details),), preset=PresetName.DETAILED)
        item, _, *rest = part(markdown, "Features").splitlines()
        assert item.startswith("- **api:** Weave patterns")
        assert rest == ["  A pattern is read from a card."]
        assert "** A pattern is read from a card. (" in part(markdown, "Highlights")


def test_long_details_end_with_a_paragraph() -> None:
    details = "\n\n".join(f"Paragraph {n} {'of words ' * 30}" for n in range(9))
    text = part(notes(changes=(replace(CHANGES[0], details=details),), preset=PresetName.DETAILED), "Features")
    assert text.endswith("of words\n\n  …")
    assert 3 <= text.count("Paragraph") <= 5


def test_people_are_named_before_bots_and_addresses_nowhere() -> None:
    people = part(notes(), "Contributors").splitlines()
    assert people[0].startswith("Thanks to Ada Lovelace (5 commits) and Bob (2), for [`")
    assert people[2] == "First contributions by Bob: welcome!"
    assert people[4] == "Automated: `dependabot[bot]` (1)."
    assert all(each.email not in notes() for each in (ADA, BOT))


HOSTS = {
    "https://github.com/a/b": "/commit/",
    "https://gitlab.com/a/b": "/-/commit/",
    "https://gitlab.example.org/a/b": "/-/commit/",
    "https://bitbucket.org/a/b": "/commits/",
    "https://codeberg.org/a/b": "/commit/",
    "https://dev.azure.com/o/p/_git/b": "/commit/",
    "https://git.sr.ht/~a/b": "/commit/",
}


@pytest.mark.parametrize(("address", "path"), HOSTS.items())
def test_commits_are_linked_where_the_host_is_known(address: str, path: str) -> None:
    assert f"({address}{path}{sha(1)})" in notes(remote_url=address)


@pytest.mark.parametrize("address", [None, "https://example.org/x", "javascript:alert(1)", "https://u:p@github.com/a"])
def test_commits_are_named_without_a_link_elsewhere(address: str | None) -> None:
    features = part(notes(remote_url=address, compare_url=None), "Features")
    assert features == f"- **api:** Weave patterns with `weave()` from a card (#12, `{sha(1)[:7]}`)"


@pytest.mark.parametrize("preset", PresetName)
@settings(deadline=None)
@given(text=HOSTILE, more=HOSTILE, name=HOSTILE)
@example(text="", more="", name="` @ada")
def test_hostile_text_adds_no_heading_link_html_or_control_character(
    preset: PresetName, text: str, more: str, name: str
) -> None:
    def headings(markdown: str) -> list[str]:
        blocks = MARKDOWN.parse(markdown)
        return [blocks[n + 1].content for n, block in enumerate(blocks) if block.type == "heading_open"][1:]

    bad = change(
        1, "feature", text, scope=name, details=more, breaking=True, breaking_note=more, migration=more,
        pull_request=name, areas=(name,), issues=(name,),
    )  # fmt: skip
    known = facts(
        changes=(bad, *CHANGES[1:]),
        known_issues=(bad,),
        surface=(SurfaceChange("api", "changed", text or "x", name, more, (sha(1),)),),
        dependencies=(DependencyChange(text or "x", name, more, name, text, False, (sha(1),)),),
        areas=(Area(name, 9, 9, 9, 9), Area(text, 8, 8, 8, 8), Area("a", 7, 7, 7, 7)),
        project_files=(ProjectFile(name, text), ProjectFile("Dockerfile", f"FROM x\n{more}")),
        contributors=tuple(replace(each, person=replace(each.person, name=name)) for each in facts().contributors),
        project_name=name,
        from_ref=name,
        version=text,
        remarks=(more,),
        remote_url=None,
        compare_url=None,
    )
    markdown = notes(known, preset)
    assert headings(markdown) == headings(notes(facts(surface=known.surface), preset))
    inner = [token for block in MARKDOWN.parse(markdown) for token in (block, *(block.children or ()))]
    links = [token.attrs["href"] for token in inner if token.type == "link_open"]
    assert set(links) <= {"#breaking-changes"}
    assert sum(token.type == "tr_open" for token in inner) == (6 if preset is PresetName.TECHNICAL else 0)
    assert all(token.info in ("", "sh") for token in inner if token.type == "fence")
    assert not {"html_block", "html_inline", "image", "s_open"} & {token.type for token in inner}
    assert set(markdown) - set(string.printable) == {
        each for each in markdown if ord(each) > 126 and each.isprintable()
    } | (set(markdown) & {"\u200c", "\u200d"})
    for token in inner:
        if token.type == "text":
            assert not re.search(r"@\w|://|www\.\w", token.content)
