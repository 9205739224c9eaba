"""Records about charging cards, one for each of several kinds, and how tests ask for documents."""

from typing import Any

from tests.people import Person, caught_up

GOAL = "Charge a passenger's card twice never"


async def keep(person: Person, name: str, entity_type: str, content: str = "", **fields: Any) -> str:
    made = await person.call("create_entity", name=name, entity_type=entity_type, content=content, **fields)
    return str(made["id"])


async def world(person: Person) -> dict[str, str]:
    ids = {
        "task": await keep(person, "Charge cards once", "task", "The pay button may be pressed twice within 3 seconds.",
                           metadata={"status": "blocked"}),
        "archived": await keep(person, "Charge cards by phone", "task", "A card is charged by phone.",
                               metadata={"status": "archived"}),
        "decision": await keep(person, "Charges carry an idempotency key", "decision",
                               "No passenger's card is charged twice: 24 hours long a key names one charge."),
        "rule": await keep(person, "No card numbers in logs", "rule", "A passenger's card stays with the provider."),
        "gotcha": await keep(person, "Card charged twice after a timeout", "error_pattern",
                             "Retry the charge with the same key."),
        "session": await keep(person, "Talked about card charges", "session", "Passengers press the button twice."),
        "off": await keep(person, "Barbecue", "note", "Bring potatoes and 40 sausages."),
    }  # fmt: skip
    ids["procedure"] = await keep(person, "Charge a card", "procedure", "1. Ask the provider. 2. Charge the card.",
                                  related_to=[f"requires:{ids['rule']}"])  # fmt: skip
    await caught_up(person)
    return ids


async def plan(person: Person, **fields: Any) -> dict[str, Any]:
    return dict(await person.call("synthesis_plan", **{"goal": GOAL, **fields}))


async def draft(person: Person, **fields: Any) -> dict[str, Any]:
    return dict(await person.call("synthesis_draft", **{"goal": GOAL, **fields}))


def titles(run: dict[str, Any]) -> list[str]:
    return [section["title"] for section in run["outline"]["sections"]]


def pack_of(run: dict[str, Any], title: str) -> dict[str, Any]:
    return next(pack for pack in run["source_packs"] if pack["title"] == title)


def gaps(run: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(gap["reason"], gap["missing_source_ids"]) for gap in run["verification"]["gaps"]]


def all_sources(run: dict[str, Any]) -> set[str]:
    return {each for pack in run["source_packs"] for each in pack["source_ids"]}
