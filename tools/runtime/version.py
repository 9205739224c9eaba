"""The installed version, and the commit of a running checkout."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

VERSION = version("engrain")


ROOT = Path(__file__).parents[2]
CODE = frozenset({".py", ".toml", ".onnx"})
DIGITS = 12


@cache
def commit(root: Path = ROOT) -> str | None:
    """Return the commit, with `+` and a hash of uncommitted changes. Read once."""
    if not (root / ".git").exists():
        return None
    import pygit2  # noqa: PLC0415 - an installed package never needs it

    try:
        repository = pygit2.Repository(str(root))
        sha = str(repository.head.target)[:DIGITS]
        deltas = list(repository.diff("HEAD").deltas)
    # Not our folder, no commit yet, or a file that disappeared.
    except (pygit2.GitError, KeyError, OSError):
        return None
    changed = sorted({path for each in deltas for path in (each.old_file.path, each.new_file.path)})
    differs = hashlib.sha256()
    code = [each for each in changed if Path(each).suffix in CODE]
    for path in code:
        file = root / path
        differs.update(f"\0{path}\0".encode() + (file.read_bytes() if file.is_file() else b""))
    return f"{sha}+{differs.hexdigest()[:8]}" if code else sha
