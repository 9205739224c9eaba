"""The reference of events."""

from cli.reference.markdown import code, spoken
from rest_bridge.events import EVENT_NAMES
from tools.catalogue import OPERATIONS

INTRO = """\
# Events

`GET /api/ws` upgrades to a WebSocket. Authenticate the handshake as any request (bearer header, or the session cookie
from a page of an allowed origin); a handshake that is not accepted is closed with 1008 and the reason. Only events of
records that the caller may read are sent, and no event carries text of a record.

```json
{"event": "entity_created", "data": {"id": "pattern_0a1b2c3d4e5f", "entity_type": "pattern"},
 "timestamp": "2026-01-31T12:00:00+00:00"}
```

| The client sends | The server answers |
| --- | --- |
| `{"type": "ping"}` | the event `pong` |
| `{"type": "subscribe", "topics": ["entity_created"]}` | the event `subscribed` with the known topics; none means all |
| `{"type": "pong"}` or `{"type": "heartbeat_ack"}` | nothing: it is the answer to `heartbeat` |
| anything else | the event `error` with a `message` |

Every 30 seconds the server sends `heartbeat`. A client that does not answer within 10 seconds is closed with 1008; one
that does not keep up is closed with 1013 and should reconnect and read what it missed.

`GET /api/logs/stream` is a socket of the same kind for owners of the organization. Its one event is `log`; `data` is an
entry as `GET /api/logs` gives it, and `?service=` and `?level=` narrow what is sent."""

MEANINGS = {
    "entity_pending": "An entity was stored with `sync=false` and is durable; the indexes do not show it yet.",
    "entity_created": "An entity is stored and every healthy index shows it.",
    "entity_updated": "An entity has changed. Of a task or epic `data` has the `status` and `priority` that are new, "
    "and the `action` that changed it.",
    "entity_deleted": "An entity is gone, with all its revisions.",
    "note_pending": "A note on a task was stored and is durable; the indexes do not show it yet. `data` has the "
    "`task_id`. The event `entity_pending` tells the same.",
    "note_created": "A note on a task is stored and every healthy index shows it. `data` has the `task_id`.",
    "raw_capture_changed": "A raw memory was captured, reviewed or erased; `data` has the `action`, and its "
    "`review_state` and `capture_surface`. Only who may read the memory hears of it.",
    "permission_changed": "Somebody's membership or role changed; `data` names the `user_id` and the `change_type`.",
}


def page() -> str:
    caused: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        for event in operation.events:
            caused.setdefault(event, []).append(code(operation.name))
    sections = [
        f"## {event}\n\n{MEANINGS[event]} Caused by {spoken(caused[event], 'and')}."
        for event in EVENT_NAMES
        if event in caused
    ]
    reserved = [code(event) for event in EVENT_NAMES if event not in caused]
    rest = f"Clients may subscribe to these names; nothing causes them in this version: {', '.join(reserved)}."
    return "\n\n".join([INTRO, *sections, "## Reserved names", rest]) + "\n"
