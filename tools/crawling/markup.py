"""HTML to Markdown and links."""

import re
from html.parser import HTMLParser

LINKS_LIMIT, LINK_LIMIT = 5_000, 2_000
"""Links of a page; characters of one."""
DEPTH_LIMIT = 512
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_UNREAD = frozenset("script style noscript template svg nav button select iframe math object".split())  # noqa: SIM905
_FRAME = frozenset({"header", "footer", "aside"})
"""Unread outside of the main part of a page."""
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_INLINE = frozenset("a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small".split())  # noqa: SIM905
_INLINE |= frozenset("span strong sub sup time tt u var wbr img".split())  # noqa: SIM905
_MISREAD = re.compile(r"(?=#{1,6}\s|```|~~~|[=\-~^\"'*+#]{3,}\s*$)")
"""Lines that chunking takes for a heading or a fence."""
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight)-([\w+#-]{1,30})")
_PERMALINKS = frozenset({"headerlink", "anchor", "hash-link", "header-anchor"})


class Markup(HTMLParser):
    """Reads one page; `close` it, then ask for `text`, `title` and `links`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.base = ""
        self.links: dict[str, None] = {}
        self._open: list[str] = []
        self._skipped = 0
        """Depth at which an unread element begins; 0 for none."""
        self._main: list[tuple[int, int]] = []
        """Depth and weight of the open parts that hold what a page is about."""
        self._blocks: list[tuple[int, bool, str]] = []
        """Weight, whether it follows the block before without a blank line, and text."""
        self._line: list[str] = []
        self._language = ""
        self._row: list[str] | None = None
        self._rows = 0
        self._in_title = False

    @property
    def text(self) -> str:
        heaviest = max((weight for weight, _, _ in self._blocks), default=0)
        kept = [(is_close, text) for weight, is_close, text in self._blocks if weight == heaviest]
        return "".join(f"{chr(10) if is_close else chr(10) * 2}{text}" for is_close, text in kept).lstrip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and len(self.links) < LINKS_LIMIT and 0 < len(given.get("href", "")) <= LINK_LIMIT:
            self.links[given["href"]] = None
        elif tag == "base":
            self.base = self.base or given.get("href", "")
        elif tag == "title" and not self.title and not self._skipped:
            self._in_title = True
        if tag in _VOID or len(self._open) >= DEPTH_LIMIT:
            self._line.append(" " if tag == "br" else "")
            return
        if tag not in _INLINE and "pre" not in self._open:
            self._end_block()
        self._open.append(tag)
        if not self._skipped and self._is_unread(tag, given):
            self._skipped = len(self._open)
        self._enter(tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag not in self._open:
            return
        while self._open:
            if self._open[-1] not in _INLINE or self._open[-1] == "code":
                self._leave(self._open[-1])
            if self._skipped == len(self._open):
                self._skipped = 0
            if self._main and self._main[-1][0] == len(self._open):
                self._main.pop()
            if self._open.pop() == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data[:500]
        elif not self._skipped:
            self._line.append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        # The parser of the standard library fails at sections that it does not know.
        return self.rawdata.find(">", i) + 1 or -1

    def close(self) -> None:
        super().close()
        self._end_block()

    def _is_unread(self, tag: str, given: dict[str, str]) -> bool:
        if tag in _UNREAD or "hidden" in given or given.get("aria-hidden") == "true":
            return True
        if tag == "a" and _PERMALINKS & set(given.get("class", "").split()):
            return True
        is_frame = tag in _FRAME or given.get("role") in ("navigation", "banner", "contentinfo", "search")
        return is_frame and not self._main

    def _enter(self, tag: str, given: dict[str, str]) -> None:
        if self._skipped:
            return
        weight = 2 if tag == "main" or given.get("role") == "main" else 1 if tag == "article" else 0
        if weight:
            self._main.append((len(self._open), max(weight, *(each for _, each in self._main), 0)))
        if tag in ("pre", "code", "div") and (found := _LANGUAGE.search(given.get("class", ""))):
            self._language = found[1]
        if tag == "code" and "pre" not in self._open:
            self._line.append("`")
        elif tag in ("td", "th", "tr") and self._row is not None and "".join(self._line).strip():
            self._row.append(self._cell())  # Its end tag was left out.
        if tag == "tr":
            self._end_row(self._row or [])
            self._row = []
        elif tag == "table":
            self._rows = 0

    def _leave(self, tag: str) -> None:
        if self._skipped:
            return
        if tag == "code":
            if "pre" not in self._open:
                self._line.append("`")
        elif tag == "pre":
            self._end_code()
        elif tag in ("td", "th") and self._row is not None:
            self._row.append(self._cell())
        elif tag == "tr" and self._row is not None:
            self._end_row(self._row)
        elif "pre" not in self._open:
            self._end_block()

    def _end_code(self) -> None:
        code = "".join(self._line).strip("\n").rstrip()
        self._line = []
        if code:
            fence = "```" if "```" not in code else "~~~~"
            self._keep(f"{fence}{self._language}\n{code}\n{fence}")
        self._language = ""

    def _end_row(self, row: list[str]) -> None:
        self._row = None
        if not any(row):
            return
        self._keep(f"| {' | '.join(row)} |", is_close=self._rows > 0)
        if self._rows == 0:
            self._keep("|" + " --- |" * len(row), is_close=True)
        self._rows += 1

    def _end_block(self) -> None:
        if self._row is not None or not self._line or self._skipped:
            if self._row is not None:
                self._line.append(" ")
            return
        text = self._taken()
        if not text:
            return
        around = self._open[::-1]
        heading = next((_HEADINGS[tag] for tag in around if tag in _HEADINGS), "")
        if heading:
            text = f"{heading} {text.rstrip('¶ ')}"
        elif "li" in around:
            depth = sum(tag in ("ul", "ol", "menu") for tag in around)
            text = f"{'  ' * max(depth - 1, 0)}- {text}"
        else:
            text = f"\\{text}" if _MISREAD.match(text) else text
        follows = bool(self._blocks) and self._blocks[-1][2].lstrip().startswith("- ")
        self._keep(text, is_close=follows and "li" in around)

    def _cell(self) -> str:
        return self._taken().replace("|", "\\|")

    def _taken(self) -> str:
        text, self._line = " ".join("".join(self._line).split()), []
        return "" if text == "``" else text

    def _keep(self, text: str, *, is_close: bool = False) -> None:
        self._blocks.append((max((weight for _, weight in self._main), default=0), is_close, text))
