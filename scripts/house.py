"""Print the size budgets of the source tree; fail if one is exceeded.

A feature that breaks a budget needs a better design, not a higher budget.
"""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("tools", "stores", "rest_bridge", "auth", "cli", "evals")
SOURCES = (*PACKAGES, "scripts")
HIDING_WORDS = ("What ", "Whether ", "How ", "Of ", "By ", "Who ", "Where ", "Which ", "Whose ")
MODELS = ("*.onnx", "*.txt")


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def line_count(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield all bare string statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value.strip()


def import_graph(paths: list[Path]) -> dict[str, set[str]]:
    modules = {_module(path): path for path in paths}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                submodules = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
                found |= submodules or {node.module}
        graph[module] = (found & modules.keys()) - {module}
    return graph


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def public_methods(path: Path, name: str) -> int:
    """Count the public methods and properties that a class itself defines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            return sum(not method.startswith("_") for method in methods)
    raise LookupError(f"{path} has no class {name}")


def budgets() -> list[tuple[str, float, float]]:
    """Return name, value and limit of each budget."""
    sources = python_files(*SOURCES)
    texts = [text for path in sources for text in docstrings(ast.parse(path.read_text()))]
    hiding = sum(text.startswith(HIDING_WORDS) for text in texts)
    models = sum(path.stat().st_size for pattern in MODELS for path in (ROOT / "stores/models").glob(pattern))
    return [
        ("source lines", line_count(sources), 62_000),
        ("source lines in the longest file", max(line_count([path]) for path in sources), 400),
        ("words in docstrings", sum(len(text.split()) for text in texts), 44_000),
        ("% of docstrings that hide their subject", round(100 * hiding / len(texts), 2), 0),
        ("files directly in tools/", len(list((ROOT / "tools").glob("*.py"))), 6),
        ("public methods of Ledger", public_methods(ROOT / "stores/ledger/ledger.py", "Ledger"), 15),
        ("files in a circle of imports", len(circle(import_graph(python_files(*PACKAGES)))), 0),
        ("lines of tests", line_count(python_files("tests")), 46_000),
        ("MB of models in the wheel", round(models / 1e6, 1), 62),
    ]


def main() -> int:
    kept = True
    for name, value, limit in budgets():
        sys.stdout.write(f"{'ok  ' if value <= limit else 'OVER'} {name:42}{value:>10,}{limit:>10,}\n")
        kept = kept and value <= limit
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
