"""Recognise bots among contributors."""

import re

_NAME = re.compile(
    r"\[bot\]|(?:^|[\s_-])bot(?:$|[\s_-])|^(?:dependabot|renovate|greenkeeper|snyk|github-actions|github actions"
    r"|pre-commit-ci|pre-commit|mergify|semantic-release|release-please|weblate|hosted weblate|crowdin|transifex"
    r"|all-?contributors|imgbot|codecov|copybara|gitlab-ci|travis(?: ci)?|circleci|jenkins|bors|k8s-ci-robot|homu"
    r"|web-flow|deepsource-autofix|pyup|scala steward|claude code|copilot|github copilot|cursor agent"
    r"|cursoragent|openai codex|codex|aider(?: \(.*\))?|devin ai|gemini code assist|sweep ai"
    r"|gpt-\S+|claude (?:opus|sonnet|haiku|fable)\b.*)$",
    re.I,
)
"""Not Claude or Jules: those may be people; their addresses identify the programs."""
_EMAIL = re.compile(
    r"\[bot\]@|^(?:bot|bots|noreply|no-reply|ci|build|actions?|support)@(?:anthropic|openai|cursor|ampcode|devin|github|renovateapp|"
    r"dependabot|whitesourcesoftware|mend|pre-commit|gitlab)\b|@(?:users\.noreply\.)?bots?\.|^cursoragent@|^bot@|-bot@"
    r"|^action@github\.com$",
    re.I,
)


def is_bot(name: str, email: str) -> bool:
    return bool(_NAME.search(name.strip()) or _EMAIL.search(email.strip()))
