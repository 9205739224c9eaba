"""Storage: ledger, indexes, embedders. The only place that touches an engine."""
