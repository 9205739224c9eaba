"""Graph index: relations with times and visibility. Ids only, never text."""

from stores.graph.engine import Engine
from stores.graph.index import GraphIndex
from stores.graph.neighbours import Direction, Neighbour, NeighbourQuery
from stores.graph.sessions import probe
from stores.graph.walk import Reached, Step, Walk
