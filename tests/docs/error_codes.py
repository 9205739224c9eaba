"""Error codes of the code: of the classes, and given as `code` or `word` to their calls."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import rest_bridge.application  # noqa: F401 - its classes have to be there
from rest_bridge.envelope import STATUSES, status_of
from stores.errors import EngrainError, InvalidSetting
from stores.folder import FolderInUse
from stores.ledger import DeviceRefusal

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("stores", "auth", "tools", "rest_bridge")


def statuses() -> dict[str, int | None]:
    """Return the HTTP status of each code; None for those that stop a command."""
    kinds = {kind.__name__: kind for kind in _classes()}
    found = {kind.code: None if issubclass(kind, InvalidSetting | FolderInUse) else status_of(kind("")) for kind in
             kinds.values()}  # fmt: skip
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                    for code in _given(node):
                        found.setdefault(code, status_of(kinds[node.func.id]("")))
    return found | dict.fromkeys(get_args(DeviceRefusal), 400)


def _given(node: ast.Call) -> Iterator[str]:
    for keyword in node.keywords:
        if keyword.arg in ("code", "word") and isinstance(keyword.value, ast.Constant):
            yield str(keyword.value.value)


def _classes() -> Iterator[type[EngrainError]]:
    pending = [*STATUSES, EngrainError]
    while pending:
        kind = pending.pop()
        if kind.__module__.partition(".")[0] in ROOMS:
            pending += kind.__subclasses__()
            if "code" in vars(kind):
                yield kind
