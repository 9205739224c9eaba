"""Adapter that opens the vectors of an organization."""

from pathlib import Path

from stores.indexer.embedding_worker import EmbeddingWorker
from stores.indexer.handle import Handle, closing_on_error
from stores.indexer.status import IndexName
from stores.indexer.surroundings import Surroundings, log
from stores.indexer.vector_track import VectorTrack, reaching_model
from stores.tokens import TokenStore
from stores.vectors import ModelChanged, VectorIndex


class VectorAdapter:
    name: IndexName = "vectors"
    in_place = True

    def __init__(self, worker: EmbeddingWorker) -> None:
        self._worker = worker

    @property
    def outage(self) -> str:
        return self._worker.outage

    def open(self, folder: Path, around: Surroundings, *, clean: bool) -> VectorTrack:
        """Open a generation, or a fresh one where another model made it.

        Raises:
            ModelUnavailable: The model cannot be loaded or reached.
        """
        try:
            index = self._opened(folder, around)
        except ModelChanged as change:
            log.info("embedding_model_changed", organization_id=around.organization_id, reason=str(change))
            folder = around.files.start(self.name, incomplete=True)
            around.files.sweep(self.name, [folder], damaged=False)
            index = self._opened(folder, around)
        with closing_on_error(index):
            return VectorTrack(Handle(index, folder), around, self._worker, clean=clean)

    def _opened(self, folder: Path, around: Surroundings) -> VectorIndex:
        with reaching_model():
            embedder = self._worker.source.get()
            dimension = embedder.dimension
        budget, late = around.options.vector_budget_mb, self._worker.late
        index = VectorIndex.open(folder, model=embedder.model, dimension=dimension, memory_budget_mb=budget)
        if late is None:
            # Deleted records would stay in it.
            TokenStore.remove(folder)
        else:
            with closing_on_error(index):
                index.tokens = TokenStore.open(folder, model=late.model, width=late.width)
        return index
