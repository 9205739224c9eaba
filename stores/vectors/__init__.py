"""Vector index: passages by meaning. Importing this loads no engine."""

from stores.vectors.index import VectorIndex
from stores.vectors.passages import DenseHit, DenseHits, EmbeddedRecord, ModelChanged, Vector, VectorState
