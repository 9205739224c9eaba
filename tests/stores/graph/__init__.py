"""Tests of the graph index, on the engine that ENGRAIN_TEST_GRAPH_ENGINE names; never on two in one process."""
