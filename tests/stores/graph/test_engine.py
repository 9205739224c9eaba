import os
import subprocess
import sys
from pathlib import Path

import pytest

from stores.errors import InvalidSetting
from stores.graph import GraphIndex
from stores.graph.engine import load_engine
from tests.stores.graph.drafts import CHECKOUT, ENGINE_VARIABLE, OTHER_ENGINE, run_on_the_other_engine

HERE = Path(__file__).parent


def test_the_other_engine_is_refused_once_one_is_loaded(graph: GraphIndex, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot share a process"):
        load_engine(OTHER_ENGINE)
    with pytest.raises(InvalidSetting):
        GraphIndex(tmp_path / "other", engine=OTHER_ENGINE)
    assert OTHER_ENGINE not in sys.modules


def test_an_engine_is_whole_for_every_thread_that_loads_it() -> None:
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor; from stores.graph.engine import load_engine\n"
        "def load(_): return load_engine('ladybug').get_pybind_module() is not None\n"
        "with ThreadPoolExecutor(8) as pool: sys.exit(not all(pool.map(load, range(8))))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(ENGINE_VARIABLE in os.environ, reason="this is the run on a chosen engine")
def test_every_graph_test_passes_on_the_other_engine_too() -> None:
    run_on_the_other_engine(HERE)
