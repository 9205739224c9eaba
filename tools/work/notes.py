"""Notes on tasks, with the readers of the task."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from auth.policy import require_work
from stores.clock import new_id
from stores.ledger import ABOUT
from stores.records import Entity, EntityDraft, JsonObject
from tools.app import App
from tools.frame.operation import Call, Request, Result, Route, entry, writing
from tools.records.entity_models import Content, EntityId, MutationReceipt, Wanted
from tools.records.receipts import receipt
from tools.work.work_changes import Said, present, store_beside

TITLE_LENGTH = 80

AuthorType = Literal["agent", "user"]


class AddNoteRequest(Request):
    """A note on a task."""

    task_id: EntityId = Field(description="The task's id.")
    content: Said = Field(description="Text.")
    author_type: AuthorType = Field("user", description="Kind of author.")
    author_name: Wanted = Field("", description="Name of the author.")


class NoteView(Result):
    """A note on a task."""

    id: str
    task_id: str
    content: Content
    author_type: AuthorType
    author_name: str
    created_at: datetime
    status: Literal["pending"] | None = Field(None, description="`pending` while search does not find it yet.")
    mutation_receipt: MutationReceipt | None = None


@writing(
    Route("POST", "/api/tasks/{task_id}/notes", tag="tasks", errors=(404, 409)),
    "note_pending",
    "note_created",
    "entity_pending",
    "entity_created",
)
def add_note(app: App, call: Call, request: AddNoteRequest) -> NoteView:
    """Write a note on a task. It has the readers of the task, and moves and is deleted with it."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        task = present(caller, tx.records.entity(request.task_id), request.task_id, "task")
        require_work(caller, task)
        title = request.content.strip().splitlines()[0][:TITLE_LENGTH].rstrip()
        author: JsonObject = {"author_type": request.author_type, "author_name": request.author_name}
        draft = EntityDraft(new_id("note"), "note", title, content=request.content, metadata=author, **task.place)
        note = store_beside(tx, caller, draft, ABOUT, task, fields={"task_id": task.id})
    shown = note_view(note, request.task_id)
    return shown.model_copy(update={"status": "pending", "mutation_receipt": receipt(app, call, [note])})


def note_view(note: Entity, task_id: str) -> NoteView:
    name = note.metadata.get("author_name")
    return NoteView.of(
        note,
        task_id=task_id,
        author_type="agent" if note.metadata.get("author_type") == "agent" else "user",
        author_name=name if isinstance(name, str) else "",
    )


class ListNotesRequest(Request):
    """A task whose notes to read."""

    task_id: EntityId = Field(description="The task's id.")
    limit: int = Field(50, ge=1, le=200, description="Most notes.")


class NotesView(Result):
    """The latest notes on a task, the newest first."""

    notes: Sequence[NoteView]
    count: int = Field(description="Number of notes in this answer.")


@entry(Route("GET", "/api/tasks/{task_id}/notes", tag="tasks", errors=(404,)))
def list_notes(app: App, call: Call, request: ListNotesRequest) -> NotesView:
    """Read the notes that were written on a task, the newest first."""
    caller = call.caller
    found = app.ledger.records.entity(caller.organization_id, request.task_id)
    task = present(caller, found, request.task_id, "task")
    notes = app.ledger.records.notes_about(
        caller.organization_id, task.id, visibility=caller.visible, limit=request.limit
    )
    return NotesView(notes=[note_view(note, task.id) for note in notes], count=len(notes))
