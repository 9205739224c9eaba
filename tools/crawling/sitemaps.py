"""Pages that a sitemap names; no XML parser reads it, so nothing in it is expanded."""

import html
import re
from collections import deque
from itertools import islice

from stores.errors import InvalidRequest
from tools.crawling.addresses import origin, page_address
from tools.crawling.fetching import Site
from tools.crawling.texts import Unreadable
from tools.runtime.threads import in_thread

SITEMAPS = 50
"""Files of an index that are read."""
MOST = 50_000
"""Addresses of one file, as the protocol allows."""
# No part can match where another one does: the time is linear.
_PLACE = re.compile(r"<loc>([^<>]{0,3000})(?:<!\[CDATA\[([^<>\]]{1,3000})\]\]>)?")


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
        here = await in_thread(_named, site, address, text)
        if "<sitemapindex" in text[:5000]:
            waiting += [each for each in here if each not in seen]
            seen.update(here)
        else:
            found |= dict.fromkeys(here)
    return [*found][:limit]


def _named(site: Site, address: str, text: str) -> list[str]:
    links = (html.unescape(each[2] or each[1]).strip() for each in islice(_PLACE.finditer(text), MOST))
    found = (page_address(address, link) for link in links if link)
    return [each for each in found if each is not None and origin(each) == origin(site.start)]
