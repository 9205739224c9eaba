"""Indexes held against the ledger."""

from stores.indexer import Indexer, IndexName


def differences(indexer: Indexer, organization_id: str) -> list[str]:
    return [f"{each.index}: {found}" for each in indexer.examine(organization_id) for found in each.differences]


def degraded(indexer: Indexer, organization_id: str) -> set[IndexName]:
    organization = indexer._registry.get(organization_id)
    return organization.degraded() if organization is not None else set()
