"""Graph index: relations with times and visibility. Ids only, never text."""

from stores.graph.engine import Engine
from stores.graph.index import GraphIndex
from stores.graph.neighbours import Direction, Neighbour, NeighbourQuery, Reached, Step, Walk
from stores.graph.sessions import probe
