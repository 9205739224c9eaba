"""Payloads are bounded and hashed alike; what is made of them depends on nothing else."""

from typing import Any

import pytest
from pydantic import ValidationError

from tools.experience.payload import Experience, content_hash
from tools.experience.projections import edges, manifest_id, notes, projections


def step(name: str = "o1", ordinal: int = 0, **fields: Any) -> dict[str, Any]:
    return {"id": name, "ordinal": ordinal, "evidence": [{"id": "e1", "content": "Exit status 1"}]} | fields


def payload(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    said = {"source_id": "run-1", "goal": "Deploy the heron", "project_id": "project_1"}
    return said | {"observations": [*steps] or [step()]} | fields


def experience(*steps: dict[str, Any], **fields: Any) -> Experience:
    return Experience.model_validate(payload(*steps, **fields))


def parts(count: int, content: str = "x", **fields: Any) -> list[dict[str, Any]]:
    return [{"id": f"e{number}", "content": content, **fields} for number in range(count)]


def steps(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [step(f"o{number}", number, **fields) for number in range(count)]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (payload(goal=""), "goal"),
        (payload(goal="x" * 18_001), "goal"),
        (payload(source_id="x" * 2049), "source_id"),
        (payload(outcome="x" * 18_001), "outcome"),
        (payload(start_uri="x" * 8193), "start_uri"),
        (payload() | {"observations": []}, "observations"),
        (payload(*steps(1025)), "observations"),
        (payload(step(ordinal=-1)), "ordinal"),
        (payload(step(evidence=[])), "evidence"),
        (payload(step(evidence=parts(257))), "evidence"),
        (payload(step(evidence=parts(1, content_type="x" * 257))), "content_type"),
        (payload(step(image_refs=["x"] * 257)), "image_refs"),
        (payload(step(action="x" * 18_001)), "action"),
        (payload(step(evidence=parts(1) * 2)), "have the id e0"),
        (payload(*steps(17, evidence=parts(241))), "4097 evidence parts"),
        (payload(*steps(68, evidence=parts(1, "x" * 1_000_000))), "68000000 characters"),
        (payload(metadata={"much": "x" * 8_388_608}), "without evidence"),
        (payload(reward=1), "reward"),
        (payload(step(evidence="text")), "evidence"),
    ],
)
def test_what_is_out_of_bounds_or_unknown_is_named(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        Experience.model_validate(wrong)


def test_the_hash_says_whether_anything_differs() -> None:
    def hashed(*steps: dict[str, Any], **fields: Any) -> str:
        return content_hash(experience(*steps, **fields).outline())

    known = hashed(step("a", 0), step("b", 1))
    assert known == hashed(step("b", 1), step("a", 0)) == hashed(step("a", 0, image_refs=[]), step("b", 1, uri=None))
    others = [
        hashed(step("a", 0), step("b", 1, evidence=parts(1, "y"))), hashed(step("a", 0), step("b", 1), outcome=""),
        hashed(step("a", 1), step("b", 0)), hashed(step("a", 0)), hashed(step("a", 0), step("b", 1), metadata={"k": 1}),
    ]  # fmt: skip
    assert len({known, *others}) == 6


def test_one_step_makes_three_records_with_ids_of_the_source() -> None:
    whole = experience(step(action="Run deploy.sh", reasoning="It is time", uri="ssh://host"), outcome="It works")
    manifest, procedure, session = projections(whole)
    assert [manifest.entity_type, procedure.entity_type, session.entity_type] == ["artifact", "procedure", "session"]
    assert manifest.id == manifest_id("run-1") == next(projections(experience(goal="Other"))).id
    assert {each.name for each in edges(whole)} == {"DERIVED_FROM", "PART_OF", "USES_PROCEDURE"}
    assert session.content == "Action: Run deploy.sh\nReasoning: It is time\nWhere: ssh://host\n\n[e1] Exit status 1"
    assert "Reported outcome, not verified: It works" in manifest.content
    assert (procedure.metadata["status"], procedure.metadata["outcome_verified"]) == ("unverified", False)


def test_long_evidence_is_shared_out_and_says_how_long_it_is() -> None:
    long = step(
        action="a" * 18_000, reasoning="b" * 18_000, evidence=[*parts(2, "x" * 30_000), {"id": "z", "content": "end"}]
    )
    session = [*projections(experience(long, goal=" "))][2]
    assert len(session.content) <= 50_000
    assert session.content.count("… (30000 characters)") == 2
    assert session.content.endswith("[z] end")
    many = experience(*steps(1024, evidence=parts(4, "x"), action="a" * 500, uri="u" * 500))
    assert all(len(each.content) <= 50_000 and len(each.name) <= 200 for each in projections(many))
    assert len({each.id for each in projections(many)}) == 1026


def test_blank_evidence_is_read_in_linear_time() -> None:
    blank = experience(*steps(100, evidence=parts(1, " ")))
    (note, *_), _ = notes(blank.outline(), lambda _: " " * 50_000, "artifact_1")
    assert note.name
