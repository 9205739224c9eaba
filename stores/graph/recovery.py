"""After an unclean stop: whether a graph can be opened at all, and how to get a bad one out of the way."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from stores.graph import gate
from stores.graph.engine import Engine, database_options
from stores.graph.files import database_path, pool_for

_CHILD = """
import importlib, importlib.util, json, sys
engine, path, options = sys.argv[1:]
module = importlib.import_module(engine)
database = module.Database(path, **json.loads(options))
connection = module.Connection(database)
connection.execute("MATCH (p:Position) RETURN p.sequence").close()
connection.execute("MATCH (e:Entity) RETURN sum(e.revision)").close()
connection.execute("MATCH (:Entity)-[r:Relation]->(:Entity) RETURN count(r.id)").close()
connection.close()
database.close()
"""


def probe(folder: Path, engine: Engine, *, timeout_s: float = 60) -> bool:
    """Try in a child process whether the graph opens and can be read; a damaged log may abort who opens it.

    Costs a process start, so call it only after an unclean stop. A folder without a graph is fine.
    """
    path = database_path(folder, engine)
    if not path.exists():
        return True
    gate.claim(folder)
    try:
        options = json.dumps(database_options(engine, pool_for(path, 64)))
        command = [sys.executable, "-P", "-c", _CHILD, engine, str(path), options]
        # The interpreter is our own and the arguments are a path and numbers.
        child = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    finally:
        gate.release(folder)
    return child.returncode == 0


def set_aside(folder: Path) -> Path | None:
    """Move a bad graph with its log out of the way, to `<folder>.set-aside`; None where there was none.

    Only the latest bad graph is kept, for whoever wants to look at it.
    """
    if not folder.exists():
        return None
    gate.claim(folder)
    try:
        aside = folder.with_name(f"{folder.name}.set-aside")
        if aside.exists():
            shutil.rmtree(aside)
        return folder.rename(aside)
    finally:
        gate.release(folder)
