"""People and bots of a range."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from cli.release_notes.facts import Commit, Contributor, Person

LONGEST_NAME = 200
CO_AUTHOR = re.compile(r"^\s*(?:\*\s*)?co-authored-by:\s*([^<\n]*?)\s*<([^>\n]*)>\s*$", re.I | re.M)
_BOT_NAME = re.compile(
    r"\[bot\]|(?:^|[\s_-])(?:ro)?bots?(?:$|[\s_-])|\bauto-?fix\b|\bpowered by ai\b|releas(?:er|e-please)$"
    r"|^(?:dependabot|renovate|greenkeeper|github[- ]actions|pre-commit(?:-ci\S*)?|mergify|semantic-release|bors|homu"
    r"|(?:hosted )?weblate|crowdin|all-?contributors|codecov|copybara|web-flow|scala steward|aider(?: \(.*\))?|gpt-\S+"
    r"|(?:\w+ )?(?:copilot|codex)|antigravity)$|\bclaude (?:code|opus|sonnet|haiku)\b|\bcursor ?(?:agent|ai)\b",
    re.I,
)
"""Not Claude or Jules alone: those may be people; their addresses identify the programs."""
_BOT_EMAIL = re.compile(r"\[bot\]@|^(?:bots?|no-?reply|cursoragent)@|@(?:users\.noreply\.)?bots?\.|-bot@", re.I)


@lru_cache(maxsize=100_000)
def person(name: str, email: str) -> Person:
    name, email = (name.strip() or email.strip())[:LONGEST_NAME], email.strip()[:LONGEST_NAME]
    return Person(name, email, bool(_BOT_NAME.search(name) or _BOT_EMAIL.search(email)))


def contributors(commits: Sequence[Commit]) -> tuple[Contributor, ...]:
    """Return the people, by address or name, most commits first; programs are none, and merges count for nobody."""
    known: dict[str, Person] = {}
    counts: Counter[Person] = Counter()
    for commit in commits:
        counted: set[Person] = set()
        for each in (*(() if len(commit.parents) > 1 else (commit.author,)), *commit.co_authors):
            user, _, host = each.email.lower().partition("@")
            user = user.rpartition("+")[2] if host == "users.noreply.github.com" else user
            keys = f"{user}@{host}", each.name.casefold()
            someone = next((known[key] for key in keys if key in known), each)
            known.update(dict.fromkeys(keys, someone))
            counted.add(someone)
        counts.update(counted)
    found = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].name.lower(), pair[0].email))
    return tuple(Contributor(*pair) for pair in found if not pair[0].is_bot)
