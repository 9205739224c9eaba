"""Opening of an organization's vector index."""

from pathlib import Path

from stores.embedding import Embedder, Passage
from stores.indexer.backfill import MISSING, Backfill
from stores.indexer.backlog import Progress
from stores.indexer.embedding_worker import EmbedderSource
from stores.indexer.encoding import TokenEncoder
from stores.indexer.handle import closing_on_error
from stores.indexer.lane import ModelUnavailable, Surroundings, describe, log
from stores.records import Position
from stores.tokens import TokenStore
from stores.vectors import ModelChanged, VectorIndex, VectorState


class VectorOpener:
    """Raises faults of the model as `ModelUnavailable`."""

    def __init__(self, around: Surroundings, source: EmbedderSource, late: TokenEncoder | None) -> None:
        self._around = around
        self._source = source
        self._late = late

    def open(self) -> tuple[Path, VectorIndex]:
        """Open the serving generation, or a fresh one where it is unusable."""
        files, embedder = self._around.files, self._model()
        folder = files.current("vectors")
        index = self._open_folder(folder, embedder) if folder is not None else None
        if folder is None or index is None:
            folder = self._fresh_folder(replaces=folder is not None)
            index = self._opened(folder, embedder)
        files.sweep("vectors", [folder], damaged=False)
        return folder, index

    def objection_to(self, state: VectorState | None) -> str | None:
        feed = self._around.feed
        if state is None:
            return None
        batch, _, newest = state.position.batch.partition("+")
        position = Position(state.position.epoch, state.position.sequence, batch)
        objection = feed.objection(position)
        if objection is None and state.applied:
            objection = feed.objection(Position(position.epoch, max(state.applied), newest))
        return objection

    def state_of(self, epoch: str, progress: Progress) -> VectorState:
        position = self._around.feed.position(progress.prefix)
        batch = position.batch
        if progress.applied:
            batch += "+" + self._around.feed.position(max(progress.applied)).batch
        return VectorState(Position(epoch, progress.prefix, batch), progress.applied)

    def divide(self, text: str) -> list[Passage]:
        if not text:
            return []
        embedder = self._model()
        try:
            return embedder.split(text)
        except Exception as error:
            raise _unavailable(error) from error

    def _model(self) -> Embedder:
        try:
            return self._source.get()
        except Exception as error:
            raise _unavailable(error) from error

    def _opened(self, folder: Path, embedder: Embedder) -> VectorIndex:
        try:
            dimension = embedder.dimension
        except Exception as error:
            raise _unavailable(error) from error
        budget = self._around.options.vector_budget_mb
        index = VectorIndex.open(folder, model=embedder.model, dimension=dimension, memory_budget_mb=budget)
        if self._late is None:
            # Deleted records would stay in it.
            TokenStore.remove(folder)
        else:
            with closing_on_error(index):
                index.tokens = TokenStore.open(folder, model=self._late.model, width=self._late.width)
        return index

    def _open_folder(self, folder: Path, embedder: Embedder) -> VectorIndex | None:
        organization_id = self._around.organization_id
        try:
            return self._opened(folder, embedder)
        except ModelChanged as change:
            log.info("embedding_model_changed", organization_id=organization_id, reason=str(change))
        except (OSError, ModelUnavailable):
            raise  # The files may be whole.
        except Exception as error:  # noqa: BLE001  # engines raise anything about a damaged file
            log.error("index_damaged", organization_id=organization_id, index="vectors", reason=describe(error))
            self._around.files.set_aside("vectors", folder)
        return None

    def _fresh_folder(self, *, replaces: bool) -> Path:
        files = self._around.files
        folder = files.fresh("vectors")
        if replaces or not self._around.feed.reaches_back(self._around.options.replay_at_most):
            Backfill(folder).ask(MISSING)
        files.point("vectors", folder)
        return folder


def _unavailable(error: Exception) -> ModelUnavailable:
    return ModelUnavailable(f"the embedding model is not available: {describe(error)}")
