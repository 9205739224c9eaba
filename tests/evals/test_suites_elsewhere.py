"""Every suite that asks a server asks one that runs already, beside whatever else is stored there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.client import Client
from evals.harness import places
from evals.harness.places import LOGIN, joined, opened
from evals.harness.server import Target, served
from evals.options import Options
from evals.packs.world import settled
from evals.results import Case
from evals.runs import Archive, Journal, new_record
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from evals.usage import ARMS, BEFORE
from stores.errors import EngrainError
from tests.evals.sets import write_own
from tests.evals.test_elsewhere import WORDS, end_sessions, inhabited, kept_posts
from tests.evals.test_history import commit, write_log

LOG = [
    commit(6, "Bump the parser to 1.4", day="2026-03-09"),
    commit(5, "Bump the parser to 1.3", day="2026-03-08"),
    commit(4, "Heat", "The kettle boils dry where nobody looks.", files="src/kettle.py"),
    commit(3, "Cool", "A fan runs as soon as the sensor asks.", files="src/kettle.py"),
]
KEYED, BY_SEVERAL = ("history", "reflection"), ("packs", "synthesis", "usage")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Target]:
    with inhabited(tmp_path / "elsewhere", WORDS) as target:
        yield target


def wanted(folder: Path, **changes: Any) -> Options:  # noqa: ANN401, RUF100 - whatever options take
    """What each suite takes of these is small."""
    write_log(folder / "data", LOG)
    return Options(folder / "data", [str(write_own(folder))], limit=4, runs=folder / "runs", **changes)


def cases_of(suite: str, options: Options) -> dict[tuple[str, str, str], Case]:
    said: list[str] = []
    assert run_suite(suite, options, said.append) == 0, said
    stored = Archive(options.runs or Path()).read("latest")
    assert stored.record is not None
    assert stored.record.suite == suite
    assert all(part.resident_mb is None for part in stored.parts) == bool(options.url)
    if options.url:
        assert (stored.record.model, stored.record.machine) == ("unknown", {})
        assert stored.record.settings["server"] == {"ledger": "sqlite", "embedder": "off"}
    # Without recency, what is equally good comes in the order of ids, which are new.
    return {case.key: case for case in stored.cases if case.arm != "without-recency"}


@pytest.mark.slow
@pytest.mark.parametrize("suite", [*KEYED, *BY_SEVERAL])
def test_a_suite_finds_the_same_on_a_server_elsewhere_however_often_it_is_asked_there(
    tmp_path: Path, elsewhere: Target, suite: str
) -> None:
    own = cases_of(suite, wanted(tmp_path, server=WORDS))
    assert own
    for _ in range(2):
        found = cases_of(suite, wanted(tmp_path, url=elsewhere.address))
        assert found.keys() == own.keys()
        for measure in next(iter(own.values())).values:
            # What is equally good may stand in another order.
            means = [sum(case.values.get(measure, 0) for case in each.values()) / len(each) for each in (own, found)]
            assert means[1] == pytest.approx(means[0], abs=0.01), measure


@pytest.mark.slow
@pytest.mark.parametrize("suite", KEYED)
def test_with_a_key_a_suite_keeps_to_projects_of_its_own(tmp_path: Path, elsewhere: Target, suite: str) -> None:
    own = cases_of(suite, wanted(tmp_path, server=WORDS))
    with Client(elsewhere.address) as client, client.signed_up("ada") as ada:
        # Outside of these it would be the first of what is found.
        ada.post("/api/entities", {"name": "what changed in src/kettle.py", "entity_type": "note"})
        key = ada.post("/api/auth/api-keys", {"name": "eval", "scopes": ["api:read", "api:write"]})["api_key"]
        found = cases_of(suite, wanted(tmp_path, url=elsewhere.address, key=key))
    assert found.keys() == own.keys()
    texts = {one for case in own.values() for one in case.found}
    for name, case in found.items():
        assert texts.issuperset(case.found)
        # How rare words are is told from all that one may read, which is more here.
        if suite != "history":
            assert case.values == own[name].values, name


@pytest.mark.parametrize("suite", BY_SEVERAL)
def test_what_several_users_are_needed_for_is_refused_with_the_key_of_one(
    tmp_path: Path, elsewhere: Target, suite: str
) -> None:
    said: list[str] = []
    assert run_suite(suite, wanted(tmp_path, url=elsewhere.address, key="sk"), said.append) == NOTHING_TO_MEASURE
    assert said == [
        "Several users of one organization are needed here, and a key is of one: unset ENGRAIN_TOKEN, so that accounts"
        f" are signed up at {elsewhere.address}."
    ]


@pytest.mark.parametrize("suite", [*KEYED, *BY_SEVERAL])
def test_a_server_elsewhere_takes_no_settings_and_has_to_answer(tmp_path: Path, suite: str) -> None:
    said: list[str] = []
    options = wanted(tmp_path, url="http://127.0.0.1:1")
    for each in (options, replace(options, server=WORDS)):
        assert run_suite(suite, each, said.append) == NOTHING_TO_MEASURE
    assert "got no answer" in said[0]
    assert "has its own settings, not ENGRAIN_EMBEDDING_PROVIDER" in said[1]
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "path"), [("packs", "/api/context/pack"), ("reflection", "/api/context/reflect")])
def test_an_interrupted_suite_goes_on_with_its_accounts_elsewhere(
    tmp_path: Path, elsewhere: Target, monkeypatch: pytest.MonkeyPatch, suite: str, path: str
) -> None:
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")
    post, sent = Client.post, list[str]()

    def until_the_tenth(client: Client, at: str, body: Any) -> dict[str, Any]:  # noqa: ANN401, RUF100 - as it comes
        sent.append(at)
        if at == path and sent.count(path) == 10:
            raise KeyboardInterrupt
        return post(client, at, body)

    monkeypatch.setattr(Client, "post", until_the_tenth)
    options, said = wanted(tmp_path, url=elsewhere.address), list[str]()
    assert run_suite(suite, options, said.append) == INTERRUPTED, said
    # Another process knows of no token.
    monkeypatch.setattr(places, "_sign_ins", places.SignIns())
    before = len(sent)
    assert cases_of(suite, options)
    afterwards = sent[before:]
    assert "/api/auth/local/signup" not in afterwards
    assert "/api/entities/bulk" not in afterwards
    assert afterwards.count(LOGIN) == (2 if suite == "packs" else 1)


@pytest.mark.slow
def test_citing_is_measured_elsewhere_without_times(tmp_path: Path, elsewhere: Target) -> None:
    said: list[str] = []
    assert run_suite("usage", wanted(tmp_path, url=elsewhere.address), said.append) == 0, said
    stored = Archive(tmp_path / "runs").read("latest")
    assert stored.document == {"costs": {}}
    assert {part.arm for part in stored.parts} == {BEFORE, *ARMS}
    assert not any("ms (p50)" in line for line in said)


@pytest.mark.parametrize("suite", ["retrieval", "reflection"])
def test_no_account_of_a_run_becomes_the_admin_of_a_server_that_is_somebodys(tmp_path: Path, suite: str) -> None:
    said: list[str] = []
    with served(tmp_path / "elsewhere", WORDS, None) as target:
        assert run_suite(suite, wanted(tmp_path, url=target.address), said.append) == NOTHING_TO_MEASURE
        assert said[-1].startswith(f"Nobody has an account at {target.address} yet, and the first one is its admin: ")
        with Client(target.address) as client, client.signed_up("grace") as grace:
            assert grace.get("/api/auth/me")["user"]["is_admin"]


def test_where_nobody_may_sign_up_a_run_says_that_a_key_opens_it(tmp_path: Path) -> None:
    said: list[str] = []
    with inhabited(tmp_path / "elsewhere", WORDS):
        pass
    with served(tmp_path / "elsewhere", {**WORDS, "ENGRAIN_SIGNUP_ENABLED": "false"}, None) as target:
        assert run_suite("packs", wanted(tmp_path, url=target.address), said.append) == NOTHING_TO_MEASURE
    assert said[-1].startswith("No account can be made for this run: ")
    assert "With a key in ENGRAIN_TOKEN" in said[-1]


def test_where_its_accounts_are_gone_an_interrupted_run_says_how_to_begin_anew(
    tmp_path: Path, elsewhere: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_sign_ins", places.SignIns())
    gone = places.Place("eval-gone@localhost.test")
    with Client(elsewhere.address) as client, pytest.raises(EngrainError, match="add --afresh to begin anew"):
        gone.enter(client, "")


def test_records_that_are_stored_are_kept_where_indexing_is_interrupted(
    tmp_path: Path, elsewhere: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.begin(tmp_path / "runs", new_record("packs", {}, {}, {}))
    options = wanted(tmp_path, url=elsewhere.address)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evals.packs.world.until_whole", interrupt)
        with pytest.raises(KeyboardInterrupt), settled(journal, "packs", options):
            pytest.fail("It was interrupted.")
    posts = kept_posts(monkeypatch)
    with settled(journal, "packs", options) as settlement:
        assert settlement.loading_s is None
        assert settlement.world.ids
    assert posts == []
    journal.close()


def test_a_member_whose_token_is_refused_enters_the_organization_once_more(
    elsewhere: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(elsewhere.address) as owner, Client(elsewhere.address) as member:
        opened(elsewhere, owner, "")
        place = joined(owner)
        posts = kept_posts(monkeypatch)
        place.enter(member, "")
        assert posts == []
        end_sessions(member)
        shared = [client.get("/api/auth/me")["organization"]["slug"] for client in (owner, member)]
        assert shared == [place.organization] * 2
        assert [path for path, _ in posts] == [LOGIN, f"/api/orgs/{place.organization}/switch"]
