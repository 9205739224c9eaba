"""Storage: the ledger, the three indexes that follow it, the embedders. The only place that touches an engine."""
