"""Governance of raw memories: inspection, corrections, sharing, audit."""
