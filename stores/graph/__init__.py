"""Graph index: relations with times and visibility. Ids only, never text."""

from stores.graph.engine import Engine, probe
from stores.graph.index import GraphIndex
from stores.graph.neighbours import Direction, Edge, NeighbourQuery, Reached, Step, Walk
