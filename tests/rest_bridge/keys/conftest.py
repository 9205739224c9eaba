"""Somebody with a real account."""

import pytest

from tests.people import Person, person
from tools.app import App


@pytest.fixture
async def ada(app: App) -> Person:
    return await person(app, "ada")
