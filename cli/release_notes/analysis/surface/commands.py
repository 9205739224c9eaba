"""Commands and flags of command lines in Python."""

import ast
import re

from cli.release_notes.analysis.surface.names import Found
from cli.release_notes.analysis.surface.syntax import Function, last_name, parsed

_DECLARES = re.compile(r"add_argument|add_parser|\boption\(|\bOption\(|\.command\(|\bclick\b|\btyper\b")
_FLAG = re.compile(r"^--[A-Za-z][\w-]*$")


def commands_and_flags(path: str, text: str) -> tuple[dict[str, Found], dict[str, Found]]:
    """Return the commands and flags that a Python file declares, with their defaults."""
    if not path.endswith(".py") or not _DECLARES.search(text):
        return {}, {}
    tree = parsed(text)
    if tree is None:
        return {}, {}
    commands: dict[str, Found] = {}
    flags: dict[str, Found] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _read_call(node, path, commands, flags)
        elif isinstance(node, Function):
            _read_function(node, path, commands, flags)
    return commands, flags


def _strings(node: ast.Call) -> list[str]:
    return [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _keyword(node: ast.Call, name: str) -> str | None:
    for keyword in node.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return repr(keyword.value.value)
    return None


def _read_call(node: ast.Call, path: str, commands: dict[str, Found], flags: dict[str, Found]) -> None:
    name = last_name(node)
    if name in ("add_argument", "option", "Option"):
        default = _keyword(node, "default")
        for text in _strings(node):
            for flag in re.split(r"[/\s]+", text):
                if _FLAG.match(flag):
                    flags[flag] = Found(path, default)
    elif name == "add_parser" and _strings(node):
        commands[_strings(node)[0]] = Found(path)


def _read_function(node: Function, path: str, commands: dict[str, Found], flags: dict[str, Found]) -> None:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call else decorator
        if not isinstance(target, ast.Attribute) or target.attr not in ("command", "group"):
            continue
        if call and _keyword(call, "hidden") == "True":
            continue
        given = (_strings(call) if call else []) or ([_keyword(call, "name") or ""] if call else [])
        name = (given[0] if given else "").strip("'\"") or node.name.replace("_", "-").removesuffix("-command")
        commands[name] = Found(path)
        _read_parameters(node, path, flags)


def _read_parameters(node: Function, path: str, flags: dict[str, Found]) -> None:
    given = [*node.args.args, *node.args.kwonlyargs]
    for argument in given:
        for inner in ast.walk(argument.annotation) if argument.annotation else ():
            unnamed = isinstance(inner, ast.Call) and last_name(inner) == "Option"
            if unnamed and isinstance(inner, ast.Call) and not any(text.startswith("-") for text in _strings(inner)):
                flags[f"--{argument.arg.replace('_', '-')}"] = Found(path)
