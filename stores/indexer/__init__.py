"""Indexer: everything between the ledger's feed and the three indexes."""

from stores.indexer.indexer import Indexer
from stores.indexer.options import IndexerOptions
from stores.indexer.organization import OpenIndexes
from stores.indexer.status import IndexName, IndexStatus, State

__all__ = ["IndexName", "IndexStatus", "Indexer", "IndexerOptions", "OpenIndexes", "State"]
