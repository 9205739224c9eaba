"""The way to a path without fields: looked up, where the router would try one route after the other."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send


class StraightRoutes(BaseRoute):
    """Stands before the routes that it knows, and gives way to them where no path is met to the letter."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Take all routes; of those at one path the first one counts, as it does for the router."""
        self._by_path: dict[str, Route] = {}
        for route in routes:
            if isinstance(route, Route) and not route.param_convertors:
                self._by_path.setdefault(route.path, route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Ask the route of the path, if there is one; what it would refuse, the router decides."""
        route = self._by_path.get(scope["path"]) if scope["type"] == "http" else None
        found = route.matches(scope) if route is not None else None
        return found if found is not None and found[0] is Match.FULL else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let that route answer."""
        scope["route"] = route = self._by_path[scope["path"]]
        await route.handle(scope, receive, send)
