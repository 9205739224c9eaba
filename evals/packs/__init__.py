"""`engrain eval packs`: context packs against the records that must and must not be in them."""

from evals.packs.run import prepare

__all__ = ["prepare"]
