"""Routes of the pages."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Route

from rest_bridge.pages.device import DevicePage
from rest_bridge.pages.endpoint import Page
from rest_bridge.pages.login import Home, LoginPage
from rest_bridge.pages.operations import Operations
from rest_bridge.pages.visitors import LOGIN_PATH
from tools.app import App
from tools.people.device import PAGE as DEVICE_PATH


def build_pages(app: App, api: Iterable[BaseRoute]) -> list[Route]:
    operations = Operations(api)
    pages: dict[str, Page] = {
        "/": Home(app, operations),
        LOGIN_PATH: LoginPage(app, operations),
        DEVICE_PATH: DevicePage(app, operations),
    }
    return [Route(path, page, methods=list(page.methods)) for path, page in pages.items()]
