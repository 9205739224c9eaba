"""What the indexer promises in ordinary times."""

from tests.stores.indexer.samples import ORG, PATIENCE_S, World, draft


def test_a_write_is_found_by_words_by_meaning_and_in_the_graph_once_the_wait_is_over(world: World) -> None:
    world.start()
    sequence = world.write(draft("a", "the kestrel hovers"), draft("b", "a heron waits"))
    world.relate("a", "b")
    assert world.indexer.wait_applied(ORG, sequence + 1, ["a", "b"], PATIENCE_S) == []
    assert world.by_words("kestrel") == ["a"]
    assert world.by_meaning("a heron waits")[0] == "b"
    with world.indexer.indexes(ORG) as open_:
        assert open_.graph is not None
        assert len(open_.graph.relation_ids()) == 1
        assert open_.degraded == {}
    assert world.indexer.check(ORG) == []
