"""What the code offers is documented, what is documented exists, and every link leads somewhere."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.reference import commands, pages, reference
from rest_bridge.websocket import EVENT_NAMES
from tests.docs.error_codes import statuses
from tools.catalogue import OPERATIONS
from tools.records.entity_types import (
    COMPLEXITIES,
    ENTITY_TYPES,
    PRIORITIES,
    PROJECT_VISIBILITIES,
    RELATIONSHIP_TYPES,
    STATUSES,
)
from tools.retrieval.evidence import MOST_SIMILAR, SIMILAR_AMONG
from tools.retrieval.plan import LANE_DEPTH, POOL_LIMIT, SEEDS
from tools.retrieval.scoring import ALIKE_SHARE, NEIGHBOUR_BONUS, NEIGHBOUR_SHARE, RECENCY_BONUS, SPOKEN, lifted
from tools.runtime.client_settings import DESCRIPTIONS as CLIENT_SETTINGS
from tools.runtime.health import OPERATIONS as HEALTH
from tools.runtime.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
HAND_WRITTEN = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(page for shelf in ("guide", "explain", "experiments") for page in sorted((ROOT / "docs" / shelf).glob("*.md"))),
]
EVERY_PAGE = [*HAND_WRITTEN, *sorted(REFERENCE.glob("*.md"))]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MENTIONED = re.compile(rf"\b{PREFIX}[A-Z_]+[A-Z]\b")

WRITTEN = pages()


def headings(path: Path) -> list[str]:
    prose = _FENCED.sub("", path.read_text(encoding="utf-8"))
    return [line.lstrip("#").strip() for line in prose.splitlines() if re.match(r"#{1,6} ", line)]


def sections(path: Path) -> dict[str, str]:
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return {heading: text.strip() for heading, _, text in (part.partition("\n") for part in parts)}


def anchors(path: Path) -> set[str]:
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(path))
    return set(kept)


def relative_to_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_setting_has_its_heading() -> None:
    assert headings(REFERENCE / "settings.md")[1:] == [
        f"{PREFIX}{name.upper()}" for name in [*Settings.model_fields, *CLIENT_SETTINGS]
    ]


def test_every_tool_has_its_heading() -> None:
    assert {operation.name for operation in OPERATIONS if operation.tool} <= set(headings(REFERENCE / "tools.md"))


def test_the_page_on_rest_names_health() -> None:
    page = (ROOT / "docs" / "guide" / "rest.md").read_text(encoding="utf-8")
    paths = [each.route.path for each in HEALTH if each.route]
    assert all(f"GET {path}`" in page for path in paths)


def test_every_error_code_has_its_heading() -> None:
    named = sections(REFERENCE / "errors.md")
    for code, status in statuses().items():
        assert named.pop(code).startswith(f"HTTP {status}" if status else "Stops a command"), code
    assert not named, "there are no such codes"
    assert {"signup_disabled", "missing_scope_key", "validation_error", "data_folder_in_use"} <= statuses().keys()


def test_every_command_has_its_heading() -> None:
    names = commands()
    assert {"serve", "check", "reindex", "demo", "version"} <= set(names)
    assert headings(REFERENCE / "commands.md")[1:] == [f"engrain {name}" for name in names]


def test_every_word_of_records_is_named() -> None:
    page = (ROOT / "docs" / "guide" / "words.md").read_text(encoding="utf-8")
    words = {*ENTITY_TYPES, *RELATIONSHIP_TYPES, *PRIORITIES, *COMPLEXITIES, *PROJECT_VISIBILITIES}
    assert words.union(*STATUSES.values()) <= set(re.findall(r"`([\w]+)`", page))


def test_every_event_that_happens_has_its_heading_and_a_known_name() -> None:
    named = sections(REFERENCE / "events.md")
    reserved = named.pop("Reserved names")
    for operation in OPERATIONS:
        assert all(f"`{operation.name}`" in named[event] for event in operation.events), operation.name
    assert {*named, *re.findall(r"`(\w+)`", reserved)} == set(EVENT_NAMES)


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_a_generated_page_is_as_the_code_would_write_it(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == WRITTEN[name], "run `make docs`"


def test_a_drifted_and_a_missing_page_are_named(tmp_path: Path) -> None:
    assert reference(tmp_path, tmp_path) == 0
    (tmp_path / "tools.md").write_text("old")
    (tmp_path / "commands.md").unlink()
    checked = CliRunner().invoke(app, ["reference", "--check", str(tmp_path)])
    assert checked.exit_code == 1
    named = [line.split()[0] for line in checked.output.splitlines()]
    assert named == [str(tmp_path / name) for name in ("tools.md", "commands.md")]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=relative_to_root)
def test_a_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    prose = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{target} leads nowhere"
        assert not fragment or fragment in anchors(file), f"{target}: no such heading"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=relative_to_root)
def test_hand_written_pages_name_settings_that_exist(page: Path) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in [*Settings.model_fields, *CLIENT_SETTINGS]}
    assert set(_MENTIONED.findall(page.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=relative_to_root)
def test_hand_written_pages_name_commands_and_verbs_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    spoken = set(re.findall(r"(?:^|`)engrain ([a-z][a-z-]*)", text, re.MULTILINE))
    assert spoken <= {*commands(), "reference"}
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= verbs


def test_the_page_on_search_gives_the_figures_that_the_code_works_by() -> None:
    page = " ".join((ROOT / "docs" / "explain" / "search.md").read_text(encoding="utf-8").split())
    for figure in (
        f"up to {LANE_DEPTH} candidates",
        f"a pool of at most {POOL_LIMIT:,}",
        f"by at most {lifted(0.5, RECENCY_BONUS) - 0.5:.2f} each",
        f"at least {NEIGHBOUR_SHARE} times the square of that one's score",
        f"beside a certain answer (0.95) that is {NEIGHBOUR_SHARE * 0.95**2:.2f}",
        f"counts for {SPOKEN} more",
    ):
        assert figure in page
    assert RECENCY_BONUS == NEIGHBOUR_BONUS
    assert SEEDS == 6, "the page says six"
    assert (ALIKE_SHARE, MOST_SIMILAR, SIMILAR_AMONG) == (0.4, 4, 50), "the page says four tenths, four, 50"


def test_a_hand_written_page_is_short() -> None:
    lines = {page.name: len(page.read_text(encoding="utf-8").splitlines()) for page in HAND_WRITTEN}
    assert [name for name, count in lines.items() if count > (120 if name == "AGENTS.md" else 250)] == []


@pytest.mark.parametrize(
    "page", [page for page in HAND_WRITTEN if page.parent.name != "experiments"], ids=relative_to_root
)
def test_lines_of_prose_fit_the_width_of_the_code(page: Path) -> None:
    long = [line for line in page.read_text(encoding="utf-8").splitlines() if len(line) > 120 and line[:1] != "|"]
    assert long == []
