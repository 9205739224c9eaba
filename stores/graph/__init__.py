"""The graph index: which record is related to which, when, and who may see it. Ids only, never text."""

from stores.graph.engine import Engine
from stores.graph.index import GraphIndex
from stores.graph.nearby import Room
from stores.graph.neighbours import Direction, Neighbour, NeighbourQuery
from stores.graph.recovery import probe, set_aside
from stores.graph.walk import Reached, Step, Walk

__all__ = [
    "Direction",
    "Engine",
    "GraphIndex",
    "Neighbour",
    "NeighbourQuery",
    "Reached",
    "Room",
    "Step",
    "Walk",
    "probe",
    "set_aside",
]
