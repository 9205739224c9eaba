"""Check of a graph file after an unclean stop."""

import json
import subprocess
import sys
from pathlib import Path

from stores.folder import claim, release
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
    """Return whether a child process can read the graph, if any: a damaged log may abort it."""
    path = database_path(folder, engine)
    if not path.exists():
        return True
    claim(folder)
    try:
        options = json.dumps(database_options(engine, pool_for(path, 64)))
        command = [sys.executable, "-P", "-c", _CHILD, engine, str(path), options]
        # The interpreter is our own and the arguments are a path and numbers.
        child = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    finally:
        release(folder)
    return child.returncode == 0
