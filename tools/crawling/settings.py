"""How a source is crawled; kept in its metadata, where only the server writes it."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import urlsplit

from stores.errors import InvalidRequest
from stores.records import Entity, JsonObject

KEY = "crawl_settings"
PAGES, MOST_PAGES = 200, 5_000
DEPTH, MOST_DEPTH = 3, 20


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    url: str
    kind: Literal["site", "sitemap"]
    depth: int = DEPTH
    pages: int = PAGES
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def stamp(self) -> str:
        """Digits that differ for other settings."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def kept(self) -> JsonObject:
        return {**asdict(self), "include": [*self.include], "exclude": [*self.exclude]}

    @classmethod
    def of(cls, source: Entity) -> "CrawlSettings":
        """Return the settings of a source, or raise InvalidRequest if it was not crawled."""
        kept = source.metadata.get(KEY)
        if not isinstance(kept, dict):
            is_folder = (source.source_file or "").startswith("file:")
            way = "Run `engrain crawl FOLDER` where it is." if is_folder else "Send its documents again."
            raise InvalidRequest(f"The server did not crawl {source.id}, so it cannot read it again.", remediation=way)
        lists = {name: tuple(kept.get(name) or ()) for name in ("include", "exclude")}  # type: ignore[arg-type]
        return cls(**{**kept, **lists})  # type: ignore[arg-type]


def kind_of_start(url: str) -> Literal["site", "sitemap"]:
    return "sitemap" if urlsplit(url).path.endswith(".xml") else "site"
