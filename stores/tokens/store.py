"""The token vectors of one organization's records: one SQLite file, never held in memory."""

import json
import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int8]
"""(tokens, width): each line is a vector, in the form that its model keeps them in."""
Sentences = NDArray[np.int8]
"""(passages, dimension): the vector of each passage as a whole, by a second model, as that keeps it."""

FILE = "tokens.sqlite"
READ_EACH = 4
"""Passages that are read of each record, from its beginning; the one that was asked for comes on top."""
_FORMAT = "3"
_BUSY_MS = 5_000
_SCHEMA = """
CREATE TABLE label (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    record_id TEXT PRIMARY KEY, revision INTEGER NOT NULL, digest BLOB NOT NULL, has_sentences INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, record_id TEXT NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, sentence BLOB NOT NULL, vectors BLOB NOT NULL
);
CREATE UNIQUE INDEX passages_of_records ON passages (record_id, number);
"""
_TABLES = {"label", "records", "passages"}
_INSERT = "INSERT INTO passages (record_id, number, start, stop, sentence, vectors) VALUES (?, ?, ?, ?, ?, ?)"
_READ = """
SELECT at, {column} FROM (
    SELECT key AS at, json_extract(value, '$[0]') AS wanted, json_extract(value, '$[1]') AS place FROM json_each(?)
) CROSS JOIN passages
WHERE record_id = wanted AND (number < ? OR start <= place AND place < stop)
"""
_CONTENTS = "SELECT record_id, iif(has_sentences OR ?, revision, NULL) FROM records"
_DIGEST = "SELECT record_id, digest FROM records WHERE record_id = ? AND (has_sentences OR ?)"
_READ_TOKENS, _READ_SENTENCES = _READ.format(column="vectors"), _READ.format(column="sentence")
# A sentence's vector stands in front of those of its tokens: these are not read from the disk with it.
_AT_ONCE = 16
# Records that are asked for together: half the time of one by one, and few are read for nothing.
_MISSHAPEN = """
SELECT vectors, sentence FROM passages WHERE typeof(vectors) <> 'blob' OR length(vectors) % ? <> 0
OR typeof(sentence) <> 'blob' OR length(sentence) NOT IN (0, ?) LIMIT 1
"""
# Primary codes: a table that is not there, a page that cannot be one, rows that contradict each other, no database.
_DAMAGE = frozenset(
    (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT,
     sqlite3.SQLITE_NOTADB)
)  # fmt: skip


class TokensUnusable(sqlite3.DatabaseError):
    """The file is damaged or could not be opened: `mend` is to be called."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageTokens:
    """A stretch of a record's text, in characters, the vectors of its tokens, and that of the whole."""

    start: int
    stop: int
    vectors: Tokens
    sentence: Sentences
    """(dimension,); none of them where the second model was not to read it."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenRecord:
    """A record with all of its passages; one without text has none and is held all the same."""

    record_id: str
    revision: int
    digest: bytes
    """Of the text that the vectors were made of."""
    passages: Sequence[PassageTokens]


class TokenStore:
    """Derived data: what is damaged, or was made by another model, is thrown away and made anew.

    Vectors of whole passages may be missing. Where they are wanted, a record without them counts as one whose text has
    changed: what is there is read until it is put again.

    Safe to use from any thread; reads never wait for writes. Whatever meets damage raises `TokensUnusable`, and so does
    everything that follows until the file is mended.
    """

    def __init__(self, path: Path, *, model: str, width: int, dimension: int, wants_sentences: bool) -> None:
        self._path = path
        self._wants_sentences = wants_sentences
        self._label = {"format": _FORMAT, "model": model, "width": str(width), "dimension": str(dimension)}
        self._width, self._dimension = width, dimension
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._is_closed = False
        self._has_to_go = False
        self.fault = ""
        """Why the file cannot be used; empty where it can."""
        self.on_fault: Callable[[], None] = lambda: None
        """Called when a reader meets a fault."""

    @classmethod
    def open(cls, folder: Path, *, model: str, width: int, dimension: int, wants_sentences: bool = True) -> Self:
        """Open the vectors in a folder, creating the file where needed; what cannot be read is replaced.

        Where neither is possible, they have a `fault` from the beginning.
        """
        made = cls(folder / FILE, model=model, width=width, dimension=dimension, wants_sentences=wants_sentences)
        with suppress(sqlite3.Error, OSError):
            made.mend()
        return made

    @staticmethod
    def remove(folder: Path) -> None:
        """Remove the vectors in a folder, if there are any.

        Raises:
            OSError: They cannot be removed.
        """
        for file in folder.glob(f"{FILE}*"):
            file.unlink(missing_ok=True)

    def mend(self, *, anew: bool = False) -> None:
        """Open the file again; make it anew if it is damaged, or that is asked for.

        Raises:
            sqlite3.Error: It cannot be opened or created.
            OSError: It cannot be removed.
        """
        with self._writing, self._reading:
            if self._is_closed:
                return
            self._let_go()
            try:
                if anew or self._has_to_go:
                    self.remove(self._path.parent)
                try:
                    self._connect()
                except sqlite3.Error as error:
                    if not _is_damage(error):
                        raise
                    self._let_go()
                    self.remove(self._path.parent)
                    self._connect()
            except (sqlite3.Error, OSError) as error:
                self._let_go()
                self.fault = str(error)
                raise
            self.fault, self._has_to_go = "", False

    def check(self) -> str:
        """Read the whole file; say what is wrong with it, nothing at best."""
        try:
            with self._writes() as writer:
                ((found,),) = writer.execute("PRAGMA quick_check(1)").fetchall()
                if found != "ok":
                    raise sqlite3.DatabaseError(str(found).strip().splitlines()[-1])
                for vectors, sentence in writer.execute(_MISSHAPEN, (self._width, self._dimension)):
                    self._table(vectors)
                    self._row(sentence)
        except TokensUnusable as error:
            return str(error)
        return ""

    def contents(self) -> dict[str, int | None]:
        """Every record's id and the revision that its vectors are known to fit; None where wanted ones are missing."""
        with self._writes() as writer:
            return dict(writer.execute(_CONTENTS, (not self._wants_sentences,)))

    def digests(self, record_ids: Iterable[str]) -> dict[str, bytes]:
        """Of which text the vectors of some records were made, if none is missing that is wanted."""
        with self._writes() as writer:
            found = (writer.execute(_DIGEST, (each, not self._wants_sentences)).fetchone() for each in record_ids)
            return dict(row for row in found if row is not None)

    def put(self, records: Iterable[TokenRecord]) -> None:
        """Make these the only vectors of those records: all of them or, if something fails, none."""
        with self._writes() as writer:
            for record in records:
                _forget(writer, record.record_id)
                has_sentences = all(len(each.sentence) == self._dimension for each in record.passages)
                writer.execute(
                    "INSERT INTO records VALUES (?, ?, ?, ?)",
                    (record.record_id, record.revision, record.digest, has_sentences),
                )
                writer.executemany(
                    _INSERT,
                    (
                        (record.record_id, number, each.start, each.stop, *self._plain(each))
                        for number, each in enumerate(record.passages)
                    ),
                )

    def confirm(self, revisions: Mapping[str, int]) -> None:
        """Note that the vectors of records fit later revisions, too: their texts are the same."""
        with self._writes() as writer:
            writer.executemany(
                "UPDATE records SET revision = ? WHERE record_id = ?",
                [(revision, record_id) for record_id, revision in revisions.items()],
            )

    def drop(self, record_ids: Collection[str]) -> None:
        """Remove records; nothing of them stays in the file."""
        if not record_ids:
            return
        with self._writes() as writer:
            for record_id in record_ids:
                _forget(writer, record_id)

    def read(self, wanted: Mapping[str, int], *, most: float = math.inf) -> dict[str, list[Tokens]]:
        """The vectors of some records, a table for each passage.

        Of each record the first `READ_EACH` passages are read, and the one in which a character stands that is given
        with it. Records without vectors are left out, and those that come after so many tokens.
        """
        with self._reads():
            return self._read(wanted, most) if not self._is_closed else {}

    def sentences(self, wanted: Mapping[str, int]) -> dict[str, Sentences]:
        """The vectors of whole passages of some records, (passages, dimension) each: the passages that `read` reads.

        Records that have none are left out.
        """
        with self._reads():
            return self._sentences(wanted) if not self._is_closed else {}

    def compact(self) -> None:
        """Write what was changed lately into the file itself: what is gone is then nowhere on disk."""
        try:
            with self._writing, self._guarded():
                _open(self._writer).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except TokensUnusable:
            self.on_fault()

    def close(self) -> None:
        """Let go of the file."""
        with self._writing, self._reading:
            self._is_closed = True
            self._let_go()

    def _sentences(self, wanted: Mapping[str, int]) -> dict[str, Sentences]:
        pairs = list(wanted.items())
        rows = _open(self._reader).execute(_READ_SENTENCES, (json.dumps(pairs), READ_EACH)).fetchall()
        whole = sorted(((at, self._row(sentence)) for at, sentence in rows if sentence), key=itemgetter(0))
        return {
            pairs[at][0]: np.stack([row for _, row in passages]) for at, passages in groupby(whole, key=itemgetter(0))
        }

    def _read(self, wanted: Mapping[str, int], most: float) -> dict[str, list[Tokens]]:
        found: dict[str, list[Tokens]] = {}
        left = most
        execute = _open(self._reader).execute
        pairs = list(wanted.items())
        for first in range(0, len(pairs), _AT_ONCE):
            if left <= 0:
                break
            some = pairs[first : first + _AT_ONCE]
            rows = sorted(execute(_READ_TOKENS, (json.dumps(some), READ_EACH)), key=itemgetter(0))
            for at, passages in groupby(rows, key=itemgetter(0)):
                if left <= 0:
                    break
                tables = found[some[at][0]] = [self._table(vectors) for _, vectors in passages]
                left -= sum(map(len, tables))
        return found

    @contextmanager
    def _reads(self) -> Iterator[None]:
        try:
            with self._reading, self._guarded():
                yield
        except TokensUnusable:
            self.on_fault()
            raise

    @contextmanager
    def _writes(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes: what is done with it is done whole or not at all."""
        with self._writing, self._guarded(), _open(self._writer) as writer:
            yield writer

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        if self.fault and not self._is_closed:
            raise TokensUnusable(self.fault)
        try:
            yield
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
            self.fault, self._has_to_go = str(error), True
            raise TokensUnusable(self.fault) from error

    def _connect(self) -> None:
        self._writer = _connected(self._path)
        tables = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._writer.executescript(_SCHEMA)
            with self._writer:
                self._writer.executemany("INSERT INTO label VALUES (?, ?)", self._label.items())
        elif tables != _TABLES or dict(self._writer.execute("SELECT name, value FROM label")) != self._label:
            raise sqlite3.DatabaseError("The vectors are by another model, or not whole.")
        self._reader = _connected(self._path)

    def _let_go(self) -> None:
        for connection in (self._reader, self._writer):
            with suppress(sqlite3.Error):
                if connection is not None:
                    connection.close()
        self._reader = self._writer = None

    def _table(self, vectors: object) -> Tokens:
        if not isinstance(vectors, bytes) or len(vectors) % self._width:
            raise sqlite3.DatabaseError("A passage has vectors of an impossible size.")
        return np.frombuffer(vectors, np.int8).reshape(-1, self._width)

    def _row(self, sentence: object) -> Sentences:
        if not isinstance(sentence, bytes) or len(sentence) not in (0, self._dimension):
            raise sqlite3.DatabaseError("A passage has a vector of an impossible size.")
        return np.frombuffer(sentence, np.int8)

    def _plain(self, passage: PassageTokens) -> tuple[bytes, bytes]:
        vectors, sentence = passage.vectors, passage.sentence
        if vectors.dtype != np.int8 or vectors.ndim != 2 or vectors.shape[1] != self._width:
            raise ValueError(f"Token vectors are a table of int8, {self._width} wide.")
        if sentence.dtype != np.int8 or sentence.shape not in ((0,), (self._dimension,)):
            raise ValueError(f"The vector of a passage is {self._dimension} of int8, or none.")
        return sentence.tobytes(), vectors.tobytes()


def _is_damage(error: sqlite3.Error) -> bool:
    """Tell whether a file is to blame, and neither the disk, nor another program, nor whoever called."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _DAMAGE
    # Ours, or that a text cannot be decoded.
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)


def _open(connection: sqlite3.Connection | None) -> sqlite3.Connection:
    if connection is None:
        raise sqlite3.ProgrammingError("The token vectors are closed.")
    return connection


def _forget(writer: sqlite3.Connection, record_id: str) -> None:
    writer.execute("DELETE FROM passages WHERE record_id = ?", (record_id,))
    writer.execute("DELETE FROM records WHERE record_id = ?", (record_id,))


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=_BUSY_MS / 1000)
    # Little memory, as each organization has two; what is deleted is overwritten; a commit that is lost is made anew.
    with closing(connection.cursor()) as cursor:
        for pragma in ("cache_size = -256", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            cursor.execute(f"PRAGMA {pragma}")
    return connection
