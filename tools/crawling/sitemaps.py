"""Pages that a sitemap names; no XML parser reads it, so nothing in it is expanded."""

import html
import re
from collections import deque

from stores.errors import InvalidRequest
from tools.crawling.addresses import origin, page_address
from tools.crawling.fetching import Site
from tools.crawling.texts import Unreadable

SITEMAPS = 50
"""Files of an index that are read."""
_PLACE = re.compile(r"<loc>\s*(?:<!\[CDATA\[)?\s*([^<>\]]{1,2000}?)\s*(?:\]\]>)?\s*</loc>")


async def pages_of(site: Site, limit: int) -> list[str]:
    """Return at most `limit` pages of the site that its sitemap, or those of its index, name.

    Raises:
        InvalidRequest: The sitemap cannot be read.
    """
    found: dict[str, None] = {}
    waiting, seen = deque([site.start]), {site.start}
    read = 0
    while waiting and read < SITEMAPS and len(found) < limit:
        address = waiting.popleft()
        read += 1
        try:
            text = (await site.get(address)).data.decode("utf-8", "replace")
        except Unreadable as error:
            if address == site.start:
                raise InvalidRequest(f"The sitemap {address} {error}.") from None
            continue
        named = (page_address(address, html.unescape(each)) for each in _PLACE.findall(text))
        here = [each for each in named if each is not None and origin(each) == origin(site.start)]
        if "<sitemapindex" in text[:5000]:
            waiting += [each for each in here if each not in seen]
            seen.update(here)
        else:
            found |= dict.fromkeys(here)
    return [*found][:limit]
