"""LanceDB, loaded in half of the time: without the client of a remote catalogue, which a folder never asks."""

import importlib.util
import sys

CATALOGUE = "lance_namespace_urllib3_client"
"""LanceDB takes data classes of a REST interface from it. It also loads one class for each path of that interface."""


def defer(name: str) -> None:
    """Have what a package itself defines loaded at its first use; its modules load as they are imported.

    Leaves a package alone that is loaded, or is not there.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    package, loader = importlib.util.module_from_spec(spec), spec.loader

    def define(attribute: str) -> object:
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, attribute)

    package.__getattr__ = define  # type: ignore[method-assign]  # that of a module: PEP 562
    sys.modules[name] = package


defer(CATALOGUE)

from lancedb import connect  # noqa: E402 - after what it would load
from lancedb.index import HnswSq  # noqa: E402 - as above

__all__ = ["CATALOGUE", "HnswSq", "connect", "defer"]
