"""The interface of every operation is pinned: a change of it is a change of a file under tests/schemas.

Run with ENGRAIN_WRITE_SCHEMAS=1 to write the files anew, and read the difference.
"""

import json
import os
from pathlib import Path

import pytest

from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation

FOLDER = Path(__file__).parent / "schemas"


def interface(operation: Operation) -> dict[str, object]:
    route, tool = operation.route, operation.tool
    return {
        "description": operation.description,
        "request": operation.request.model_json_schema(),
        "result": operation.result.model_json_schema(mode="serialization"),
        "roles": sorted(operation.roles) if operation.roles is not None else None,
        "scope": operation.scope,
        "mutates": operation.mutates,
        "events": list(operation.events),
        "route": route and f"{route.method} {route.path} {route.status}",
        "tool": tool
        and {
            "title": tool.title,
            "read_only": tool.read_only,
            "destructive": tool.destructive,
            "idempotent": tool.idempotent,
            "toolset": tool.toolset,
            "omit": sorted(tool.omit),
            **({"omit_result": sorted(tool.omit_result)} if tool.omit_result else {}),
            **{f"omit_values of {name}": sorted(words) for name, words in tool.omit_values.items()},
        },
    }


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_interface_is_what_was_agreed(operation: Operation) -> None:
    path = FOLDER / f"{operation.name}.json"
    now = json.dumps(interface(operation), indent=2, sort_keys=True) + "\n"
    if os.environ.get("ENGRAIN_WRITE_SCHEMAS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(now)
    assert path.exists(), f"{operation.name} has no pinned interface; write it with ENGRAIN_WRITE_SCHEMAS=1"
    assert now == path.read_text()


def test_no_pinned_interface_is_left_without_its_operation() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {operation.name for operation in OPERATIONS}


def test_every_entry_describes_itself_and_its_fields() -> None:
    for operation in OPERATIONS:
        assert operation.description, operation.name
        undescribed = [name for name, field in operation.request.model_fields.items() if not field.description]
        assert undescribed == [], operation.name
        assert operation.route or operation.tool, operation.name
