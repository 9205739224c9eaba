"""The indexer, on real engines; only the embedder is a stand-in."""
