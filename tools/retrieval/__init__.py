"""Retrieval pipeline: plan, candidates, fusion, expansion, hydration, ranking."""
