"""Text of pages and files, and addresses."""

import ipaddress

import pytest

from tools.crawling.fetching import is_page, is_public, is_wanted, page_address
from tools.crawling.texts import Unreadable, read_apart, to_text

PAGE = """<!doctype html><html><head><title>Lamps - Docs</title><base href="/docs/"><style>p{}</style></head><body>
<header><a href="/home">Home</a> Site</header><nav><ul><li>Menu</li></ul></nav>
<main><article><header><h1>Lamps<a class="headerlink" href="#l">¶</a></h1></header>
<p>Lamps <em>turn</em>
every <code>9 s</code>.<p>Second<br>line.
<h2>Set&nbsp;up</h2><ul><li>One<ul><li>Inner</li></ul></li><li><p>Two</p></li></ul>
<pre><code class="language-sh">make lamp
  <span>indented</span> &lt;b&gt;
</code></pre>
<table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody><tr><td>a|b</td><td><p>1</p></td></tr></tbody></table>
<p># no heading</p><div hidden>Hidden</div></article></main>
<footer>Imprint <a href="next.html">n</a></footer></body></html>
"""
TEXT = """# Lamps

Lamps turn every `9 s`.

Second line.

## Set up

- One
  - Inner
- Two

```sh
make lamp
  indented <b>
```

| Name | Value |
| --- | --- |
| a\\|b | 1 |

\\# no heading"""


def pdf(*pages: str) -> bytes:
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects += [f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    objects += ["<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    tail = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>"
    )
    return body + f"{tail}\nstartxref\n{len(body)}\n%%EOF\n".encode()


def test_html_becomes_markdown_without_menus() -> None:
    found = to_text("https://x.org/docs/a", "text/html", PAGE.encode())
    assert found.text == TEXT
    assert (found.title, found.base) == ("Lamps", "/docs/")
    assert found.links == ["/home", "#l", "next.html"]


@pytest.mark.parametrize(
    ("name", "content_type", "data", "text"),
    [
        ("a.md", "", b"\xef\xbb\xbf# A\r\n\r\nWords.", "# A\n\nWords."),
        ("a.rst", "", b"Title\n=====\n\nWords.", "Title\n=====\n\nWords."),
        ("https://x.org/a", "text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本"),
        ("a.txt", "", "Wörter".encode("utf-16"), "Wörter"),
        ("a.txt", "text/plain; charset=nonsense", "Wörter".encode("latin-1"), "Wörter"),
        ("a.txt", "text/plain; charset=punycode", b"abc-" + b"a" * 500_000, "abc-aaa"),
        ("a.html", "text/html; charset=ascii", '<meta charset="koi8-r"><p>мир'.encode("koi8-r"), "мир"),
        ("a.html", "", '<meta charset="koi8-r"><p>мир'.encode("koi8-r"), "мир"),
        ("a.html", "", b"<p>a</i></p></div><b><p>b<![foo<p>c", "a\n\nb"),
        ("a.html", "", b"<div>" * 5000 + b"deep", "deep"),
    ],
)
def test_text_is_decoded(name: str, content_type: str, data: bytes, text: str) -> None:
    assert to_text(name, content_type, data).text.replace("\r\n", "\n").startswith(text)


@pytest.mark.anyio
async def test_pdf_is_read_by_page_and_hostile_pages_stay_apart() -> None:
    found = await read_apart("a.pdf", "", pdf("First words", "Second words"))
    assert found.text == "## Page 1\n\nFirst words\n\n## Page 2\n\nSecond words"
    for name, data, reason in (
        ("a.pdf", b"%PDF-1.4 nothing", "damaged PDF"), ("a.html", b"<br>", "no text"),
        ("a.txt", b"\0\1\2", "is no text"), ("a.bin", b"x", "not read"),
    ):  # fmt: skip
        with pytest.raises(Unreadable, match=reason):
            await read_apart(name, "", data)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1::1", True), ("127.0.0.1", False), ("10.1.2.3", False),
        ("169.254.169.254", False), ("100.100.100.200", False), ("168.63.129.16", False), ("0.0.0.0", False),  # noqa: S104
        ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("fe80::1", False), ("fd00:ec2::254", False),
        ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False), ("2001:0:4136::1", False),
    ],
)  # fmt: skip
def test_private_and_translated_addresses_are_told_from_public_ones(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


def test_links_have_one_form() -> None:
    base = "https://Docs.example.org:443/a/b"
    for link, found in (
        ("c", "https://docs.example.org/a/c"), ("../ü x?q=ä#f", "https://docs.example.org/%C3%BC%20x?q=%C3%A4"),
        ("//x.org", "https://x.org/"), ("javascript:x()", None), ("http://u:p@x.org", None), ("http://[::1", None),
    ):  # fmt: skip
        assert page_address(base, link) == found
    assert [is_page(f"https://x.org/{each}") for each in ("a.PNG", "a.md", "v1.2", "a.b/c")] == [
        False,
        True,
        True,
        True,
    ]
    assert is_wanted("https://x.org/a/b?x", ["/a/*"], [])
    assert not is_wanted("https://x.org/a/b", [], ["*b"])
