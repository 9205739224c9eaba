"""Environment variables and configuration keys, in source and example files."""

import ast
import re
from pathlib import PurePosixPath

from cli.release_notes.analysis.surface.names import Found
from cli.release_notes.analysis.surface.syntax import last_name, parsed

_NAME = r"(?P<name>[A-Z][A-Z0-9_]{2,80})"
_READS = re.compile(
    rf"""(?:os\.environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]\s*|os\.getenv\(\s*|\bgetenv\(\s*|\benviron\.get\(\s*|\benviron\[\s*"""
    rf"""|process\.env\[\s*|env::var(?:_os)?\(\s*|std::getenv\(\s*|os\.(?:Getenv|LookupEnv)\(\s*|ENV(?:\.fetch\(|\[)\s*"""
    rf"""|System\.getenv\(\s*|Deno\.env\.get\(\s*|envvar\s*=\s*)["'`]{_NAME}["'`]"""
    rf"""|(?:process|Bun|import\.meta)\.env\.(?P<member>[A-Z][A-Z0-9_]{{2,80}})"""
)
_LISTED = re.compile(rf"^\s*(?:#\s*)?(?:export\s+)?{_NAME}=(?P<value>[^\n]*)$", re.M)
_EXAMPLE = re.compile(
    r"^\.?env[.-](?:example|sample|template|dist|default)|\.env\.(?:example|sample|template|dist)$|^env\.example", re.I
)
_CODE = frozenset(
    {".py", ".ts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".rs", ".go", ".rb", ".java", ".kt", ".cpp", ".c", ".cc"}
)
_SYSTEM = re.compile(
    r"^(?:DISPLAY|HOME|PATH|PWD|OLDPWD|USER|USERNAME|USERPROFILE|LOGNAME|SHELL|SHLVL|TERM|TERM_\w+|COLORTERM|COLUMNS"
    r"|LINES|LANG|LANGUAGE|LC_\w+|TZ|TMP|TEMP|TMPDIR|TEMPDIR|HOSTNAME|COMPUTERNAME|HOSTTYPE|OSTYPE|EDITOR|VISUAL|PAGER"
    r"|BROWSER|MAIL|WAYLAND_DISPLAY|XAUTHORITY|XDG_\w+|DBUS_\w+|DESKTOP_SESSION|SSH_(?:AUTH_SOCK|AGENT_PID|CLIENT"
    r"|CONNECTION|TTY|ASKPASS\w*|ORIGINAL_COMMAND)|SUDO_\w+|GPG_(?:TTY|AGENT_INFO)|TMUX|STY|WT_SESSION|CI"
    r"|GITHUB_ACTIONS|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT"
    r"|HOMEDRIVE|HOMEPATH|LD_(?:LIBRARY_PATH|PRELOAD)|DYLD_\w+|PYTHON(?:PATH|HOME|HASHSEED|IOENCODING|UTF8|UNBUFFERED"
    r"|WARNINGS|STARTUP)|VIRTUAL_ENV|CONDA_(?:PREFIX|DEFAULT_ENV)|NODE_PATH|NOTIFY_SOCKET|LISTEN_FDS|LISTEN_PID"
    r"|INVOCATION_ID|KUBERNETES_(?:SERVICE|PORT)_?\w*|MSYSTEM|WSL_\w+)$"
)
_LONGEST_DEFAULT = 60


def is_example(path: str) -> bool:
    return bool(_EXAMPLE.search(PurePosixPath(path).name))


def settings_of(path: str, text: str) -> dict[str, Found]:
    """Return the settings that a file reads or lists, with their defaults; without system variables such as `HOME`."""
    if is_example(path):
        return {match["name"]: Found(path, None) for match in _LISTED.finditer(text)}
    suffix = PurePosixPath(path).suffix.lower()
    if suffix not in _CODE:
        return {}
    names = (match["name"] or match["member"] for match in _READS.finditer(text))
    found = {name: Found(path) for name in names if not _SYSTEM.match(name)}
    if suffix == ".py" and "BaseSettings" in text:
        found.update(_declared(path, text))
    return found


def _declared(path: str, text: str) -> dict[str, Found]:
    tree = parsed(text)
    if tree is None:
        return {}
    found: dict[str, Found] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(last_name(base) == "BaseSettings" for base in node.bases):
            prefix = _prefix(node)
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    name = item.target.id
                    if not name.startswith("_") and name not in ("model_config",):
                        found[f"{prefix}{name}".upper()] = Found(path, _default(item.value))
    return found


def _prefix(node: ast.ClassDef) -> str:
    for inner in ast.walk(node):
        if isinstance(inner, ast.keyword) and inner.arg == "env_prefix" and isinstance(inner.value, ast.Constant):
            return str(inner.value.value)
    return ""


def _default(value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Call):
        keyword = next((item.value for item in value.keywords if item.arg == "default"), None)
        value = keyword or (value.args[0] if value.args else None)
    if value is None:
        return None
    try:
        shown = ast.unparse(value)
    except (RecursionError, ValueError):
        return None
    return shown if len(shown) <= _LONGEST_DEFAULT and shown != "..." else None
