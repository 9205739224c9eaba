"""Settings of a crawl, kept in the metadata of its source."""

import hashlib
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from stores.errors import InvalidRequest
from stores.records import Entity
from tools.entities.documents import Url
from tools.frame.operation import Request

KEY = "crawl_settings"
Patterns = Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=200)]], Field(max_length=20)]


class CrawlSettings(Request):
    """A site or sitemap, and how much of it."""

    url: Url = Field(description="Address of the first page, or of a sitemap (`….xml`).")
    depth: int = Field(3, ge=0, le=20, description="Links to follow from the first page.")
    pages: int = Field(200, ge=1, le=5_000, description="Most pages to read.")
    include: Patterns = Field([], description="Only pages whose path fits one of these: `/guide/*`.")
    exclude: Patterns = Field([], description="No pages whose path fits one of these.")

    @property
    def is_sitemap(self) -> bool:
        return urlsplit(self.url).path.endswith(".xml")

    @property
    def stamp(self) -> str:
        """Digits that differ for other settings."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    @classmethod
    def of(cls, source: Entity) -> "CrawlSettings":
        """Return the settings of a source, or raise InvalidRequest if it was not crawled."""
        if KEY not in source.metadata:
            is_folder = (source.source_file or "").startswith("file:")
            way = "Run `engrain crawl FOLDER` where it is." if is_folder else "Send its documents again."
            raise InvalidRequest(f"The server did not crawl {source.id}, so it cannot read it again.", remediation=way)
        return cls.model_validate(source.metadata[KEY])
