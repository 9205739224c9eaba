"""Exports of a TypeScript or JavaScript module, from its syntax tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from tree_sitter import Language, Node, Parser

_FUNCTIONS = ("function_declaration", "generator_function_declaration", "function_signature")
_CLASSES = ("class_declaration", "abstract_class_declaration")
_CALLABLE = ("arrow_function", "function_expression", "generator_function")
_MEMBERS = (
    "method_definition", "method_signature", "abstract_method_signature", "public_field_definition",
    "property_signature",
)  # fmt: skip
_LONGEST = 120
SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")


@dataclass(frozen=True, slots=True)
class Exports:
    """Exports of a module.

    Attributes:
        symbols: Name to signature, of what is declared here; `Class.member` as well. `None`: handed on from elsewhere.
        handed_on: Name to (module as written, name there).
        stars: Modules whose exports are all handed on.
    """

    symbols: dict[str, str] = field(default_factory=dict)
    handed_on: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)


@cache
def _parser(dialect: str) -> Parser:
    import tree_sitter_typescript as grammars  # noqa: PLC0415 - few repositories need it

    language = grammars.language_tsx() if dialect == "tsx" else grammars.language_typescript()
    return Parser(Language(language))


def read_exports(path: str, text: str) -> Exports:
    dialect = "ts" if PurePosixPath(path).suffix in (".ts", ".mts", ".cts") else "tsx"
    root = _parser(dialect).parse(text.encode("utf-8", "replace")).root_node
    local = dict(_declared_in(root))
    found = Exports()
    for node in root.named_children:
        if node.type == "export_statement":
            _read_export(node, local, found)
    return found


def _declared_in(root: Node) -> Iterator[tuple[str, str]]:
    for node in root.named_children:
        yield from _declared(node)


def _read_export(node: Node, local: dict[str, str], found: Exports) -> None:
    declaration, source = node.child_by_field_name("declaration"), node.child_by_field_name("source")
    is_default = any(child.type == "default" for child in node.children)
    if declaration is not None:
        for name, signature in _declared(declaration):
            top, dot, rest = name.partition(".")
            found.symbols[f"default{dot}{rest}" if is_default else f"{top}{dot}{rest}"] = signature
        return
    if is_default:
        value = node.child_by_field_name("value")
        _hand_on_local(found, local, "default", _text(value) if value is not None else "")
        return
    module = _text(source).strip("\"'`") if source is not None else None
    for child in node.named_children:
        if child.type == "namespace_export":
            found.symbols[_text(child.named_children[0])] = ""
        elif child.type == "export_clause":
            _read_clause(child, module, local, found)
    if module is not None and any(child.type == "*" for child in node.children):
        found.stars.append(module)


def _read_clause(clause: Node, module: str | None, local: dict[str, str], found: Exports) -> None:
    for specifier in clause.named_children:
        name = specifier.child_by_field_name("name")
        alias = specifier.child_by_field_name("alias") or name
        if name is None or alias is None:
            continue
        if module is not None:
            found.handed_on[_text(alias)] = (module, _text(name))
        else:
            _hand_on_local(found, local, _text(alias), _text(name))


def _hand_on_local(found: Exports, local: dict[str, str], alias: str, name: str) -> None:
    found.symbols[alias] = local.get(name, "")
    inside = f"{name}."
    found.symbols.update(
        {f"{alias}.{key[len(inside) :]}": shape for key, shape in local.items() if key.startswith(inside)}
    )


def _declared(node: Node) -> Iterator[tuple[str, str]]:
    if node.type == "ambient_declaration":
        for child in node.named_children:
            yield from _declared(child)
        return
    if node.type in ("lexical_declaration", "variable_declaration"):
        for child in node.named_children:
            yield from _variable(child)
        return
    name = node.child_by_field_name("name")
    if name is None:
        if node.type in _FUNCTIONS or node.type in _CLASSES:
            yield "default", _signature(node)
        return
    label = _text(name)
    if node.type in _FUNCTIONS:
        yield label, _signature(node)
    elif node.type in _CLASSES or node.type == "interface_declaration":
        yield label, _constructor(node)
        yield from ((f"{label}.{member}", signature) for member, signature in _members(node))
    elif node.type in ("type_alias_declaration", "enum_declaration", "internal_module"):
        yield label, ""


def _variable(node: Node) -> Iterator[tuple[str, str]]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and name.type == "identifier":
        yield _text(name), _signature(value) if value is not None and value.type in _CALLABLE else ""


def _members(node: Node) -> Iterator[tuple[str, str]]:
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        name = member.child_by_field_name("name")
        hidden = any(child.type == "accessibility_modifier" and _text(child) != "public" for child in member.children)
        if member.type not in _MEMBERS or name is None or hidden or name.type == "private_property_identifier":
            continue
        label = _text(name)
        accessor = any(child.type in ("get", "set") for child in member.children)
        if label != "constructor" and not label.startswith("_"):
            yield label, "" if accessor else _signature(member)


def _constructor(node: Node) -> str:
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        name = member.child_by_field_name("name")
        if member.type == "method_definition" and name is not None and _text(name) == "constructor":
            return _signature(member)
    return ""


def _signature(node: Node) -> str:
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return ""
    parts = []
    for parameter in parameters.named_children:
        pattern, value = parameter.child_by_field_name("pattern"), parameter.child_by_field_name("value")
        if pattern is not None:
            optional = "?" if parameter.type == "optional_parameter" and value is None else ""
            default = f" = {_text(value)}" if value is not None else ""
            parts.append(" ".join(f"{_text(pattern)}{optional}{default}".split()))
    shown = f"({', '.join(parts)})"
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
