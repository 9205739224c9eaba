"""What happens after a crash, and with a damaged file."""

import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from stores.graph import GraphIndex, probe
from tests.stores.graph.drafts import ENGINE, batch, entities, relation

CHECKOUT = Path(__file__).parents[3]
WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from stores.graph import GraphIndex
    from tests.stores.graph.drafts import batch, entities, relation
    graph = GraphIndex(Path(sys.argv[1]), engine=sys.argv[2])
    for number in range(1, 10_000):
        ids = [f"{number}-{place}" for place in range(int(sys.argv[3]))]
        graph.apply(batch(entities(ids), [relation(f"r{each}", each, ids[0]) for each in ids], sequence=number))
        if number % 40 == 0:
            graph.checkpoint()
        print(number, flush=True)
    """
)


def write_until_killed(folder: Path, writes: int, size: int = 1) -> int:
    command = [sys.executable, "-c", WRITER, str(folder), ENGINE, str(size)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as child:
        last = 0
        for line in child.stdout:
            last = int(line)
            if last >= writes:
                child.kill()
    return last


@pytest.mark.parametrize(("writes", "size"), [(3, 2), (57, 2), (25, 20)], ids=["few", "many", "of many records each"])
def test_every_acknowledged_batch_survives_a_kill(tmp_path: Path, writes: int, size: int) -> None:
    folder = tmp_path / "graph"
    acknowledged = write_until_killed(folder, writes, size)
    assert probe(folder, ENGINE)
    with closing(GraphIndex(folder, engine=ENGINE)) as graph:
        position = graph.position()
        assert position.sequence >= acknowledged
        written = {f"{number}-{place}" for number in range(1, position.sequence + 1) for place in range(size)}
        assert graph.relation_ids() == {f"r{each}" for each in written}
        assert set(graph.contents()) == written


def test_a_torn_log_costs_only_the_batches_after_the_tear(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    write_until_killed(folder, 20)
    (log,) = folder.glob("*.wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    assert probe(folder, ENGINE)
    with closing(GraphIndex(folder, engine=ENGINE)) as graph:
        position = graph.position()
        assert 0 < position.sequence < 20
        assert graph.relation_ids() == {f"r{number}-0" for number in range(1, position.sequence + 1)}
        graph.apply(batch(entities("ab"), [relation("r", "a", "b")]))
        assert "r" in graph.relation_ids()


def test_a_folder_without_a_graph_passes_the_probe(tmp_path: Path) -> None:
    assert probe(tmp_path / "graph", ENGINE)


def test_a_damaged_graph_fails_the_probe(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    write_until_killed(folder, 20)
    (file,) = folder.glob("*.db")
    file.write_bytes(b"\xff" * file.stat().st_size)
    assert not probe(folder, ENGINE)


def test_an_open_graph_is_not_probed(graph: GraphIndex, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="open in this process already"):
        probe(tmp_path / "graph", ENGINE)


def test_a_probe_that_takes_too_long_fails(graph: GraphIndex, tmp_path: Path) -> None:
    graph.close()
    assert not probe(tmp_path / "graph", ENGINE, timeout_s=0.001)
