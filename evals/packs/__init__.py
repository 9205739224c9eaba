"""`engrain eval packs`: context packs against required and forbidden records."""

from evals.packs.run import prepare

__all__ = ["prepare"]
