"""Public names of a Python module with signatures, from its syntax tree."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.surface.syntax import Function, last_name, parsed

_LONGEST_DEFAULT = 40


@dataclass(frozen=True, slots=True)
class Module:
    """Definitions and re-exports of a module.

    `symbols` maps a name to its parameters without annotations, `exports` one to (module as written, name there);
    `stars` are modules re-exported whole.
    """

    symbols: dict[str, str] = field(default_factory=dict)
    exports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: tuple[str, ...] = ()


def read_module(text: str, *, is_package: bool) -> Module | None:
    tree = parsed(text.replace("\0", ""))
    try:
        return _read(tree, is_package=is_package) if tree is not None else None
    except RecursionError:
        return None


def _read(tree: ast.Module, *, is_package: bool) -> Module:
    listed = _listed(tree.body)
    found = Module(stars=tuple(_stars(tree.body)))
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            _add_exports(found, node, listed, is_package=is_package)
        for name, signature in _defined(node):
            top = name.partition(".")[0]
            if top in listed if listed is not None else not top.startswith("_"):
                found.symbols[name] = signature
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from _statements([*node.body, *handlers, *node.orelse])
        else:
            yield node


def _listed(body: Sequence[ast.stmt]) -> frozenset[str] | None:
    names: set[str] = set()
    found = False
    for node in body:
        value = _all_value(node)
        if value is not None:
            found = True
            names.update(
                item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
            )
    return frozenset(names) if found and names else None


def _all_value(node: ast.stmt) -> ast.List | ast.Tuple | None:
    targets: Sequence[ast.expr] = ()
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    named = any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)
    value = getattr(node, "value", None) if named else None
    return value if isinstance(value, ast.List | ast.Tuple) else None


def _stars(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield "." * node.level + (node.module or "")


def _add_exports(found: Module, node: ast.ImportFrom, listed: frozenset[str] | None, *, is_package: bool) -> None:
    source = "." * node.level + (node.module or "")
    for alias in node.names:
        name = alias.asname or alias.name
        # `import x as x` is how a stub and a typed package say that a name is handed on.
        meant = alias.asname == alias.name or (is_package and node.level > 0)
        if alias.name != "*" and (name in listed if listed is not None else meant and not name.startswith("_")):
            found.exports[name] = (source, alias.name)


def _defined(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, Function):
        yield node.name, _parameters(node, bound=False)
    elif isinstance(node, ast.ClassDef):
        yield from _class(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("__"):
                yield target.id, ""


def _class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    start = next((item for item in node.body if isinstance(item, Function) and item.name == "__init__"), None)
    yield node.name, _parameters(start, bound=True) if start else ""
    for item in node.body:
        if isinstance(item, Function) and not item.name.startswith("_"):
            names = {last_name(decorator) for decorator in item.decorator_list}
            if "overload" in names:
                continue
            called = not names & {"property", "cached_property", "setter", "deleter"}
            signature = _parameters(item, bound="staticmethod" not in names) if called else ""
            yield f"{node.name}.{item.name}", signature
        elif (
            isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_")
        ):
            yield f"{node.name}.{item.target.id}", ""


def _parameters(node: Function, *, bound: bool) -> str:
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    parts = [_parameter(arg.arg, default) for arg, default in zip(plain, defaults, strict=True)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if bound and parts:
        parts = parts[1:] if parts[1:2] != ["/"] else parts[2:]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_parameter(arg.arg, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(f"**{given.kwarg.arg}")
    return f"({', '.join(parts)})"


def _parameter(name: str, default: ast.expr | None) -> str:
    if default is None:
        return name
    try:
        shown = ast.unparse(default)
    except (RecursionError, ValueError):
        shown = "…"
    return f"{name}={shown if len(shown) <= _LONGEST_DEFAULT else '…'}"
