"""The built-in embedder, loaded once for all tests of this folder."""

from collections.abc import Iterator

import pytest

from stores.embedding.builtin import BuiltinEmbedder


@pytest.fixture(scope="session")
def builtin() -> Iterator[BuiltinEmbedder]:
    embedder = BuiltinEmbedder()
    yield embedder
    embedder.close()
