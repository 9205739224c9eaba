"""Token vectors on disk: whole or absent, and gone when they are to be."""

import math
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from stores.tokens import FILE, READ_EACH, PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable

WIDTH = 8


def opened(folder: Path, model: str = "m") -> TokenStore:
    return TokenStore.open(folder, model=model, width=WIDTH)


def tokens(count: int, value: int = 1) -> Tokens:
    return np.full((count, WIDTH), value, np.int8)


def record(record_id: str, *counts: int, revision: int = 1, value: int = 1) -> TokenRecord:
    passages = [PassageTokens(100 * at, 100 * at + 100, tokens(count, value)) for at, count in enumerate(counts)]
    return TokenRecord(record_id, revision, b"text", passages)


def lengths(store: TokenStore, **wanted: int) -> dict[str, list[int]]:
    return {record_id: list(map(len, found)) for record_id, found in store.read(wanted).items()}


def test_what_was_put_is_read_after_the_next_opening(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put([record("a", 3, 5, revision=2, value=-127), record("b", 1), record("empty")])
    store.close()
    again = opened(tmp_path)
    assert again.contents() == {"a": 2, "b": 1, "empty": 1}
    assert lengths(again, a=0, b=0, empty=0, unknown=0) == {"a": [3, 5], "b": [1]}
    assert np.array_equal(again.read({"a": 0})["a"][1], tokens(5, -127))
    assert again.digests(["a", "unknown"]) == {"a": b"text"}
    again.close()


def test_putting_replaces_and_dropping_removes(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put([record("a", 3, 5), record("b", 1)])
    store.put([record("a", 2, revision=2)])
    store.drop(["b"])
    store.confirm({"a": 7})
    assert lengths(store, a=0, b=0) == {"a": [2]}
    assert store.contents() == {"a": 7}
    store.close()


@pytest.mark.parametrize("most", [1, 31, 32, 33, 64, 79, 80, math.inf])
def test_records_come_in_the_order_in_which_they_were_asked_for(tmp_path: Path, most: float) -> None:
    store = opened(tmp_path)
    names = [f"r{number * 7 % 41}" for number in range(41)]
    store.put([record(name, 1, 1) for name in names if name != "r35"])
    found = store.read(dict.fromkeys([*names, "nowhere"], 0), most=most)
    there = [name for name in names if name != "r35"]
    assert [*found] == there[: math.ceil(min(most, 80) / 2)]
    assert {len(passages) for passages in found.values()} == {2}
    store.close()


def test_of_a_long_record_the_beginning_is_read_and_the_passage_that_is_asked_for(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put([record("a", *range(1, 21))])
    first = list(range(1, READ_EACH + 1))
    assert lengths(store, a=0) == {"a": first}
    assert lengths(store, a=1_250) == {"a": [*first, 13]}
    assert lengths(store, a=99_999) == {"a": first}
    store.close()


@pytest.mark.parametrize("damaged", ["x'0102'", "'text'", "zeroblob(5)"])
def test_a_vector_of_an_impossible_size_is_damage(tmp_path: Path, damaged: str) -> None:
    store = opened(tmp_path)
    store.put([record("a", 3)])
    store.close()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(f"UPDATE passages SET vectors = {damaged}")
    connection.close()
    store = opened(tmp_path)
    with pytest.raises(TokensUnusable, match="impossible size"):
        store.read({"a": 0})
    assert "impossible size" in store.check()
    store.close()
    store = opened(tmp_path)
    assert store.contents() == {}
    store.close()


def test_what_was_dropped_is_nowhere_on_disk_once_the_file_is_compact(tmp_path: Path) -> None:
    store, trace = opened(tmp_path), tokens(50, 77).tobytes()
    store.put([record("a", 50, value=77), record("b", 50, value=3)])
    assert any(trace in file.read_bytes() for file in tmp_path.iterdir())
    store.drop(["a"])
    store.compact()
    assert not any(trace in file.read_bytes() for file in tmp_path.iterdir())
    assert lengths(store, a=0, b=0) == {"b": [50]}
    store.close()


def test_one_bad_record_and_none_of_them_is_kept(tmp_path: Path) -> None:
    store = opened(tmp_path)
    wide = PassageTokens(0, 1, np.ones((2, WIDTH + 1), np.int8))
    with pytest.raises(ValueError, match=r"shape \(tokens, 8\)"):
        store.put([record("a", 1), TokenRecord("b", 1, b"", [wide])])
    assert store.contents() == {}
    store.close()


@pytest.mark.parametrize("harm", ["damage", "a table lost"])
def test_a_file_that_is_damaged_or_without_all_of_its_tables_is_replaced(tmp_path: Path, harm: str) -> None:
    store = opened(tmp_path)
    store.put([record("a", 400)])
    store.close()
    if harm == "damage":
        (tmp_path / FILE).write_bytes(b"x" * 5_000)
    else:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            connection.execute("DROP TABLE passages")
    again = opened(tmp_path)
    assert again.contents() == {}
    again.put([record("a", 1)])
    assert lengths(again, a=0) == {"a": [1]}
    again.close()


def test_what_meets_damage_says_so_until_it_is_opened_again(tmp_path: Path) -> None:
    store, heard = opened(tmp_path), list[str]()
    store.put([record(name, 400) for name in "abcdefgh"])
    assert store.check() == ""
    store.close()
    content = bytearray((tmp_path / FILE).read_bytes())
    content[8 * 4_096 :] = b"\xff" * (len(content) - 8 * 4_096)
    (tmp_path / FILE).write_bytes(content)
    store = opened(tmp_path)
    store.on_fault = lambda: heard.append(store.fault)
    assert store.check() != ""
    for attempt in (lambda: store.read({"a": 0}), store.contents, lambda: store.drop(["a"])):
        with pytest.raises(TokensUnusable):
            attempt()
    store.compact()
    assert len(heard) == 1
    store.close()
    again = opened(tmp_path)
    again.put([record("a", 3)])
    assert lengths(again, a=0) == {"a": [3]}
    again.clear()
    assert again.contents() == {}
    again.close()


def test_reads_and_writes_go_on_beside_each_other(tmp_path: Path) -> None:
    store, faults = opened(tmp_path), list[BaseException]()

    def read() -> None:
        try:
            for _ in range(200):
                assert all(sizes in ([2], [9, 9]) for sizes in lengths(store, a=0).values())
        except BaseException as error:  # noqa: BLE001 - shown below
            faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for each in readers:
        each.start()
    for turn in range(100):
        store.put([record("a", 9, 9) if turn % 2 else record("a", 2)])
    for each in readers:
        each.join()
    assert faults == []
    store.close()
    assert store.read({"a": 0}) == {}
