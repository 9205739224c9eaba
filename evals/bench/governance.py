"""Audit queries over a long log, the cost of an audit entry, and a correction that many records follow."""

from contextlib import closing
from pathlib import Path

from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.client import Client, encoded
from evals.machine import spread, timed_ms
from stores.errors import EngrainError
from stores.ledger import AuditDraft, Ledger
from stores.records import JsonObject
from tools.runtime.settings import Settings

ENTRIES, QUICK_ENTRIES = 1_000_000, 20_000
AT_ONCE = 5_000
SOURCES, USERS = 5_000, 40
DERIVED = 200


def measure_governance(measurement: Measurement, data: Path) -> None:
    with signed_up(measurement, data, WITHOUT_VECTORS) as first:
        _correct(measurement, first)
        project = first.post("/api/entities", {"name": "Bench", "entity_type": "project"})["id"]
        count = QUICK_ENTRIES if measurement.quick else ENTRIES
        measurement.say(f"{count} audit entries …")
        with closing(Ledger.open(Settings(data_dir=data).ledger_url)) as ledger:
            (organization,) = ledger.people.organizations()
            alone = spread(
                timed_ms(ledger.audit.append_soon, [_entry(organization.id, project, number) for number in range(300)])
            )
            for begin in range(0, count, AT_ONCE):
                with ledger.transaction(organization.id, "bench") as tx:
                    for number in range(begin, begin + AT_ONCE):
                        tx.audit(_entry(organization.id, project, number))
        queries = ("source_id=source_7", "actor_user_id=user_3", "policy_allowed=false", "action=memory.recall",
                   f"project_id={project}", "memory_scope=team", "derived_id=absent", "limit=200")  # fmt: skip
        asked = [f"/api/memory/audit?{query}" for query in queries] * measurement.times(60)
        found, cost = measurement.warmed_calls(first.get, asked)
    measurement.figures += [
        Figure.of(f"audit query over {count} entries", found, p95_target=Target(100, 50), note=cost),
        Figure.of("audit entry of a recall", alone, target=Target(0.5, 0.3)),
    ]


def _entry(organization_id: str, project: str, number: int) -> AuditDraft:
    details: JsonObject = {
        "memory_scope": "team" if number % 1_000 == 0 else "project",
        "project_id": project if number % 500 == 0 else f"project_{number % 500}",
        "policy_allowed": number % 10_000 != 0,
        "source_ids": [f"source_{(number * step) % SOURCES}" for step in (1, 7)],
    }
    action = "memory.recall" if number % 5 else "memory.remember"
    return AuditDraft(action, organization_id, f"user_{number % USERS}", None, details)


def _correct(measurement: Measurement, client: Client) -> None:
    measurement.say(f"corrections that {DERIVED} records follow …")
    times = []
    for number in range(measurement.times(20) or 2):
        text = f"Memory {number} is about bench governance."
        memory = client.post("/api/memory/raw", {"raw_content": text, "memory_scope": "organization"})["id"]
        derived = [
            {"name": f"d{each}", "content": "x", "metadata": {"raw_memory_id": memory}} for each in range(DERIVED)
        ]
        for begin in range(0, DERIVED, 100):
            client.post("/api/entities/bulk", encoded({"entities": derived[begin : begin + 100]}))
        done = client.post(f"/api/memory/inspect/{memory}/corrections", {"action": "mark_wrong"})
        times.append(client.took_ms)
        if len(done["affected_derived_ids"]) != DERIVED:
            raise EngrainError("Not all records followed the correction.")
    measurement.figures.append(
        Figure.of(f"correction that {DERIVED} records follow", spread(times), target=Target(500, 250))
    )
