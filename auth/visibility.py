"""Visibility keys: each names the readers of a record."""

from stores.records import UNAVAILABLE, WITHHELD

_MEMORY = "memory:"
_QUEUE = "queue:"


def private_key(user_id: str) -> str:
    return f"private:{user_id}"


def project_key(project_id: str) -> str:
    """Records for all readers of a project."""
    return f"project:{project_id}"


def members_key(project_id: str) -> str:
    """Records for those with a granted role in a project."""
    return f"members:{project_id}"


def team_key(team_id: str) -> str:
    return f"team:{team_id}"


def space_key(scope: str, key: str) -> str:
    """A team, or a private, shared or delegated memory space, by its scope."""
    return f"{scope}:{key}"


def unavailable_key(key: str) -> str:
    """Return the key of records that are kept but cannot be read."""
    return f"{UNAVAILABLE}{key}"


def withheld_key(key: str) -> str:
    """Records that a correction took out of every read; only inspection shows them."""
    return f"{WITHHELD}{key}"


def plain_key(key: str) -> str:
    """Key that a withheld record had before, or the same key."""
    return key.removeprefix(WITHHELD)


def memory_key(key: str) -> str:
    """Raw memories for holders of an entity key."""
    return f"{_MEMORY}{key}"


def diary_key(user_id: str) -> str:
    """Diaries of a user's agents, which are raw memories."""
    return memory_key(f"diary:{user_id}")


def queue_key(memory: str) -> str:
    """Review candidates, which no search returns."""
    return f"{_QUEUE}{memory.removeprefix(_MEMORY)}"


def entity_key(memory: str) -> str:
    """Entity key of raw memories or candidates; diaries have none."""
    return plain_key(memory).removeprefix(_MEMORY).removeprefix(_QUEUE)
