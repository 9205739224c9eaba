"""Visibility keys: who may read a record, in one word that every index filters by.

What everybody in the organization may read has the key `stores.records.ORGANIZATION`.
"""

_MEMORY = "memory:"
_QUEUE = "queue:"


def private_key(user_id: str) -> str:
    """The key of what only this user may read."""
    return f"private:{user_id}"


def project_key(project_id: str) -> str:
    """The key of what everybody who may read this project may read."""
    return f"project:{project_id}"


def members_key(project_id: str) -> str:
    """The key of what only those with a role of their own in this project may read, however open the project is."""
    return f"members:{project_id}"


def team_key(team_id: str) -> str:
    """The key of what only the members of this team may read."""
    return f"team:{team_id}"


def space_key(scope: str, key: str) -> str:
    """The key of what only the members of a shared or delegated memory space may read."""
    return f"{scope}:{key}"


def memory_key(key: str) -> str:
    """The key of the raw memories of those who hold this key; entities never have one like it."""
    return f"{_MEMORY}{key}"


def diary_key(user_id: str) -> str:
    """The key of the diaries of a user's agents, which are raw memories."""
    return memory_key(f"diary:{user_id}")


def queue_key(memory: str) -> str:
    """The key of the candidates that wait for a review where raw memories with this key are: no search meets them."""
    return f"{_QUEUE}{memory.removeprefix(_MEMORY)}"


def entity_key(memory: str) -> str:
    """The key of the entities for those who read raw memories, or candidates, with this key; diaries have none."""
    return memory.removeprefix(_MEMORY).removeprefix(_QUEUE)
