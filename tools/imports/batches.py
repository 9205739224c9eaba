"""Batches of a source's records, as the server takes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stores.records import JsonObject
from tools.imports.adapters.base import Format, Item
from tools.imports.files import SourceFiles
from tools.imports.models import RecordToImport, RelationToImport, SkippedPart

BYTES = 1_000_000


@dataclass(slots=True)
class Batch:
    """Next part of a source. `checkpoint` is the place after it."""

    records: list[JsonObject] = field(default_factory=list)
    relations: list[JsonObject] = field(default_factory=list)
    skipped: list[JsonObject] = field(default_factory=list)
    checkpoint: JsonObject = field(default_factory=dict)
    characters: int = 0
    is_last: bool = False

    @property
    def size(self) -> int:
        return len(self.records) + len(self.relations) + len(self.skipped)

    def add(self, item: Item) -> None:
        lists = {RecordToImport: self.records, RelationToImport: self.relations, SkippedPart: self.skipped}
        lists[type(item)].append(item.model_dump(mode="json", exclude_none=True))
        self.characters += len(item.content) if isinstance(item, RecordToImport) else 0

    def body(self) -> JsonObject:
        lists: JsonObject = {"records": [*self.records], "relations": [*self.relations], "skipped": [*self.skipped]}
        return lists | {"checkpoint": self.checkpoint}


def batches(adapter: Format, source: SourceFiles, after: Mapping[str, object], *, most: int) -> Iterator[Batch]:
    """Read a source from a checkpoint on; `after` is empty for all of it. Batches hold up to about 1 MB of text.

    A checkpoint names the file and the number of its items that are stored.
    """
    batch, file_name, done = Batch(), str(after.get("file", "")), int(str(after.get("items", 0)))
    is_reached = not file_name
    for file in adapter.files(source):
        skip = 0
        if not is_reached:
            if file.name != file_name:
                continue
            is_reached, skip = True, done
        for number, item in enumerate(adapter.read(file), start=1):
            if number <= skip:
                continue
            batch.add(item)
            batch.checkpoint = {"file": file.name, "items": number}
            # Who makes a project may write into it with the next request.
            is_project = isinstance(item, RecordToImport) and item.entity_type == "project"
            if is_project or batch.size >= most or batch.characters >= BYTES:
                yield batch
                batch = Batch(checkpoint=batch.checkpoint)
    if not is_reached:  # The file is gone: known records are recognised by their keys.
        yield from batches(adapter, source, {}, most=most)
    elif batch.size:
        yield batch
