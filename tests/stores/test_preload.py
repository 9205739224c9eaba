"""Preloading: in order, in the background, and awaited at the end only where it has begun."""

import subprocess
import sys
import threading

import pytest

from stores.preload import Preload, load_model


def test_closing_waits_for_what_has_begun_and_begins_nothing_more() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def slowly() -> None:
        begun.set()
        may_end.wait(10)
        done.append("first")

    preload = Preload([slowly, lambda: done.append("second")])
    preload.start()
    preload.start()
    assert begun.wait(10)
    assert not preload.done
    threading.Timer(0.05, may_end.set).start()
    preload.close()
    assert done == ["first"]
    assert preload.done


def test_closing_does_not_begin_what_nobody_started() -> None:
    done = list[str]()
    Preload([lambda: done.append("loaded")]).close()
    assert done == []


def test_a_model_that_fails_stops_nothing() -> None:
    class Down:
        model = "down"

        def embed_query(self, text: str) -> None:
            raise OSError("no route to host")

    load_model(Down())  # type: ignore[arg-type]  # fails before anything else is asked of it


@pytest.mark.parametrize(("embedder", "loaded"), [("None", "False"), ("object()", "True")])
def test_the_engine_of_vectors_is_loaded_where_there_are_any(embedder: str, loaded: str) -> None:
    script = f"from stores.preload import import_engines; import_engines('kuzu', {embedder})"
    told = "print('lancedb' in sys.modules, {'tantivy', 'kuzu'} <= sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", f"import sys; {script}; {told}"], check=True, capture_output=True)
    assert done.stdout.decode().split() == [loaded, "True"]


@pytest.mark.parametrize(
    "statement",
    ["import stores.vectors", "import stores.graph",
     "from stores.embedding import *; build_embedder(EmbeddingSpec('none')); assert 'numpy' not in sys.modules"],
)  # fmt: skip
def test_no_engine_is_loaded_before_it_is_needed(statement: str) -> None:
    engines = {"lancedb", "pyarrow", "ladybug", "kuzu", "onnxruntime", "tokenizers", "httpx2"}
    script = f"import sys; {statement}; assert not {engines} & sys.modules.keys(), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", script], check=True)
