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
    graph = GraphIndex.open(Path(sys.argv[1]), engine=sys.argv[2])
    for number in range(1, 10_000):
        source, target = f"{number}", f"{number}b"
        graph.apply(batch(entities([source, target]), [relation(f"r{number}", source, target)], sequence=number))
        if number % 40 == 0:
            graph.checkpoint()
        print(number, flush=True)
    """
)


def write_until_killed(folder: Path, writes: int) -> int:
    command = [sys.executable, "-c", WRITER, str(folder), ENGINE]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as child:
        last = 0
        for line in child.stdout:
            last = int(line)
            if last >= writes:
                child.kill()
    return last


@pytest.mark.parametrize("writes", [3, 57])
def test_every_acknowledged_batch_survives_a_kill(tmp_path: Path, writes: int) -> None:
    folder = tmp_path / "graph"
    acknowledged = write_until_killed(folder, writes)
    assert probe(folder, ENGINE)
    with closing(GraphIndex.open(folder, engine=ENGINE)) as graph:
        position = graph.position()
        assert position.sequence >= acknowledged
        assert graph.relation_ids() == {f"r{number}" for number in range(1, position.sequence + 1)}
        assert len(graph.contents()) == 2 * position.sequence


def test_a_torn_log_costs_only_the_batches_after_the_tear(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    write_until_killed(folder, 20)
    (log,) = folder.glob("*.wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    assert probe(folder, ENGINE)
    with closing(GraphIndex.open(folder, engine=ENGINE)) as graph:
        position = graph.position()
        assert 0 < position.sequence < 20
        assert graph.relation_ids() == {f"r{number}" for number in range(1, position.sequence + 1)}
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
