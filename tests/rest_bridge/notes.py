"""A tiny catalogue for tests: notes in a dictionary, with one operation for each thing that the bridge does."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from stores.errors import NotFound, RateLimited, Unavailable
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import OWNERS, WRITERS, Call, Nothing, Operation, Request, Result, Route, Tool

NoteId = Annotated[str, StringConstraints(min_length=1, max_length=40)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class NoteRequest(Request):
    text: Text = Field(description="What it says.")
    stars: int = Field(0, ge=0, le=5, description="How good it is.")
    tags: list[str] = Field([], max_length=5, description="Labels.")
    due: datetime | None = Field(None, description="When it is due.")
    metadata: JsonObject | None = Field(None, description="Anything.")
    sync: bool = Field(False, description="Wait for the indexes.")


class NoteIdRequest(Request):
    note_id: NoteId = Field(description="Id of the note.")


class PatchRequest(Request):
    note_id: NoteId = Field(description="Id of the note.")
    text: Text | None = Field(None, description="What it says now.")
    expected_revision: int | None = Field(None, ge=1, description="Refuse if it is not this one.")


class ListRequest(Request):
    page: int = Field(1, ge=1, description="Page, from 1.")
    tag: str | None = Field(None, description="Only with this one.")
    starred: bool | None = Field(None, description="Only with, or without stars.")


class TextRequest(Request):
    text: str = Field("", description="What it says.")


class Note(Result):
    id: str
    text: str
    stars: int
    tags: list[str]
    due: datetime | None
    author: str
    metadata: JsonObject | None = None


class NoteList(Result):
    notes: list[Note]
    asked: dict[str, Any]


class Said(Result):
    said: str


@dataclass
class Notes:
    """The notes, and the operations on them."""

    kept: dict[str, Note] = field(default_factory=dict)
    seen: list[Call] = field(default_factory=list)

    async def create(self, _app: App, call: Call, request: NoteRequest) -> Note:
        """Keep a note. It is there at once.

        This paragraph is not for readers of the reference.
        """
        self.seen.append(call)
        note_id = f"note_{len(self.kept) + 1}"
        fields = request.model_dump(exclude={"sync"})
        self.kept[note_id] = Note(id=note_id, author=call.caller.user_id, **fields)
        return self.kept[note_id]

    async def read(self, _app: App, _call: Call, request: NoteIdRequest) -> Note:
        if request.note_id not in self.kept:
            raise NotFound(f"There is no note {request.note_id}.")
        return self.kept[request.note_id]

    async def patch(self, _app: App, _call: Call, request: PatchRequest) -> Said:
        return Said(said=f"{request.note_id} {request.text} {request.expected_revision}")

    async def delete(self, _app: App, _call: Call, request: NoteIdRequest) -> Nothing:
        self.kept.pop(request.note_id, None)
        return Nothing()

    async def list(self, _app: App, _call: Call, request: ListRequest) -> NoteList:
        return NoteList(notes=list(self.kept.values()), asked=request.model_dump())

    async def recent(self, _app: App, _call: Call, _request: Request) -> Said:
        return Said(said="recent")

    async def upload(self, _app: App, _call: Call, request: TextRequest) -> Said:
        return Said(said=str(len(request.text)))

    async def echo(self, _app: App, call: Call, request: TextRequest) -> Said:
        self.seen.append(call)
        return Said(said=request.text)

    async def break_down(self, _app: App, _call: Call, request: TextRequest) -> Said:
        if request.text == "unavailable":
            raise Unavailable("The disk is gone.")
        if request.text == "limited":
            raise RateLimited("Too many at once.")
        raise RuntimeError("secret detail: hunter2")

    async def own(self, _app: App, _call: Call, _request: Request) -> Said:
        return Said(said="owner")

    def operations(self) -> tuple[Operation, ...]:
        return (
            Operation(
                self.create, "create_note", roles=WRITERS, scope="write", mutates=True,
                route=Route("POST", "/api/notes", 201, frozenset({"sync"}), tag="notes"),
                tool=Tool("Keep a note", read_only=False, omit=frozenset({"sync"})),
            ),
            Operation(
                self.read, "read_note", route=Route("GET", "/api/notes/{note_id}", tag="notes"),
                tool=Tool("Read a note", read_only=True),
            ),
            Operation(
                self.patch, "patch_note", roles=WRITERS, scope="write",
                route=Route("PATCH", "/api/notes/{note_id}", headers={"if-match": "expected_revision"}, tag="notes"),
            ),
            Operation(
                self.delete, "delete_note", roles=WRITERS, scope="write",
                route=Route("DELETE", "/api/notes/{note_id}", 204, tag="notes"),
                tool=Tool("Forget a note", read_only=False, destructive=True, toolset="more"), mutates=True,
            ),
            Operation(self.list, "list_notes", route=Route("GET", "/api/notes", tag="notes")),
            Operation(self.recent, "recent_notes", route=Route("GET", "/api/notes/recent", tag="notes")),
            Operation(
                self.upload, "upload_note", roles=WRITERS, scope="write",
                route=Route("POST", "/api/uploads", body_limit=1000, tag="notes"),
            ),
            Operation(self.echo, "echo", roles=None, route=Route("POST", "/api/echo", tag="open", rate="2/minute")),
            Operation(self.echo, "say", roles=None, route=Route("POST", "/api/say", tag="open")),
            Operation(
                self.break_down, "break_down", route=Route("POST", "/api/break", tag="notes"),
                tool=Tool("Break down", read_only=True),
            ),
            Operation(
                self.own, "own", roles=OWNERS, route=Route("GET", "/api/own", tag="notes"),
                tool=Tool("Own", read_only=True),
            ),
        )  # fmt: skip
