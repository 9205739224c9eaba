"""Commands and flags of command lines, in several languages."""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath

from cli.release_notes.analysis.surface.names import Found

_FLAG = re.compile(r"^--[A-Za-z][\w-]*$")
_SCRIPT = re.compile(
    r"""\.(?:option|requiredOption|flag|options?)\(\s*["'`](?P<spec>[^"'`]*?--[a-z][\w-]+[^"'`]*)["'`]"""
)
_SCRIPT_COMMAND = re.compile(r"""\.command\(\s*["'`](?P<name>[a-z][\w:-]*)[^"'`]*["'`]""")
_LONG = re.compile(r"--[A-Za-z][\w-]+")
_GO = re.compile(
    r"""(?:\b[Ff]lags?\(?\)?|\b[Ff]lag[Ss]et|\bfs|\bpflag)\.(?:Persistent)?(?:String|Bool|Int|Int64|Uint|Float64|Duration|StringSlice"""
    r"""|StringArray|Count|IntSlice|StringToString)(?P<var>Var)?P?\((?P<args>[^\n]{0,200})"""
)
_GO_COMMAND = re.compile(r"""cobra\.Command\{[^}]*?\bUse:\s*"(?P<name>[a-z][\w-]*)""", re.S)
_RUST = re.compile(
    r"""#\[(?:arg|clap|structopt|argh|option)\((?P<args>[^)]{0,400})\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?P<field>\w+)\s*:"""
)
_RUST_LONG = re.compile(r"""\blong(?:\s*=\s*"(?P<name>[\w-]+)")?""")


def commands_and_flags(path: str, text: str) -> tuple[dict[str, Found], dict[str, Found]]:
    """Return the commands and flags that a file declares, with their defaults."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".py":
        return _python(path, text)
    commands: dict[str, Found] = {}
    flags: dict[str, Found] = {}
    if suffix in (".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs") and ("command" in text or "option" in text):
        flags.update({flag: Found(path) for match in _SCRIPT.finditer(text) for flag in _LONG.findall(match["spec"])})
        commands.update({match["name"]: Found(path) for match in _SCRIPT_COMMAND.finditer(text)})
    elif suffix == ".go":
        flags.update({f"--{name}": Found(path) for name in _go_flags(text)})
        commands.update({match["name"]: Found(path) for match in _GO_COMMAND.finditer(text)})
    elif suffix == ".rs":
        flags.update({f"--{name}": Found(path) for name in _rust_flags(text)})
    return commands, flags


def _go_flags(text: str) -> Iterator[str]:
    for match in _GO.finditer(text):
        names = re.findall(r'"([a-z][\w-]+)"', match["args"])
        if names:
            yield names[0]


def _rust_flags(text: str) -> Iterator[str]:
    for match in _RUST.finditer(text):
        long = _RUST_LONG.search(match["args"])
        if long:
            yield long["name"] or match["field"].replace("_", "-")


def _python(path: str, text: str) -> tuple[dict[str, Found], dict[str, Found]]:
    if not re.search(r"add_argument|add_parser|\boption\(|\bOption\(|\.command\(|\bclick\b|\btyper\b", text):
        return {}, {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}, {}
    commands: dict[str, Found] = {}
    flags: dict[str, Found] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _read_call(node, path, commands, flags)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _read_function(node, path, commands, flags)
    return commands, flags


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.Call) -> list[str]:
    return [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _keyword(node: ast.Call, name: str) -> str | None:
    for keyword in node.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return repr(keyword.value.value)
    return None


def _read_call(node: ast.Call, path: str, commands: dict[str, Found], flags: dict[str, Found]) -> None:
    name = _called(node.func)
    if name in ("add_argument", "option", "Option"):
        default = _keyword(node, "default")
        for text in _strings(node):
            for flag in re.split(r"[/\s]+", text):
                if _FLAG.match(flag):
                    flags[flag] = Found(path, default)
    elif name == "add_parser" and _strings(node):
        commands[_strings(node)[0]] = Found(path)


def _read_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, commands: dict[str, Found], flags: dict[str, Found]
) -> None:
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


def _read_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, flags: dict[str, Found]) -> None:
    given = [*node.args.args, *node.args.kwonlyargs]
    for argument in given:
        for inner in ast.walk(argument.annotation) if argument.annotation else ():
            unnamed = isinstance(inner, ast.Call) and _called(inner.func) == "Option"
            if unnamed and isinstance(inner, ast.Call) and not any(text.startswith("-") for text in _strings(inner)):
                flags[f"--{argument.arg.replace('_', '-')}"] = Found(path)
