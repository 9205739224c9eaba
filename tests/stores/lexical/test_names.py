"""Names with numbers: what is one, which share of a question nobody wrote down, and what few have comes first."""

import pytest

from stores.lexical import LexicalIndex
from stores.lexical.names import is_numbered, numbered
from tests.stores.lexical.test_index import EVERYONE, batch, filled, index, record

__all__ = ["index"]

NAMES = """
e40310 #e40310 eng-4031 eng_104 sha256 ws-2026-14 gv8k5m l-26/40737 77-20481 2026-211 0151-2345678 9.4.1 v2.4.11
v3.0.0-rc2 rs1994016
#4821 9f3c2ab d41e77c09a 10.4.0.17 kb5034441 tls1.3 python3.12 t-1000 node-eu-07 sensor_12_temp prices_0311_north.csv
cve-2025-31822 sn-88213-k b-214 0x80070005 7734182 rfc7231 ab-1234-cd de89370400440532013000 w-2318-k m16x1.5
backup-20240311.tar 550e8400-e29b-41d4-a716-446655440000 iso-8859-1 gpt-3.5-turbo x86-64 a100-sxm4-80gb
"""
OTHERS = """
2023 mid-2023 backup-2023 backup-2023-11-10 q3-2023 may-12-2023 fy2024 2022-11-10 2024-03 04/05/2026 1.12.2023 2019-2021
10:30 5:30pm 24/7/365 24-hour 3rd 1990s 5mg 2x 230v 1.5kw 50% 3.5 -18.5 1,250 900 40000 12345.00 eur10.50 usd500 us$500
10-15 500-1000 top-10 5-star page-3 timeout=300 covid-19 gpt-4 utf-8 mp3 k8s b2b i18n cd40/cd4 myd88/cd40
1861-1865 1024-65535 0830-1715 20260504 1_000_000 1.250.000 utc-05 h2so4 b2b2c 2000bce
hkd1200 ca.500 pre-1850 pt15m30s 1/2 queue
top-100 over9000 max_1000 port:8080 +49-151-2345678 user123@example.org 1e-05 14h30 2026-w21
foo_bar a.b.c ? - 9時00分 ١٢٣٤٥٦
"""


@pytest.mark.parametrize("token", NAMES.split())
def test_what_is_named_by_a_number(token: str) -> None:
    assert is_numbered(token)


@pytest.mark.parametrize("token", OTHERS.split())
def test_days_times_amounts_ranges_and_words_are_no_names(token: str) -> None:
    assert not is_numbered(token)


@pytest.mark.parametrize(
    ("text", "names"),
    [("Are we ISO-27001-certified?", ["iso-27001"]), ("our COVID-19-related leave", []), ("two H100s", ["h100"]),
     ("under-16-year-olds", []), ("ZK\u20117742", ["zk-7742"]), ("zk\u20137742\u2014what?", ["zk-7742"]),
     ("_ZK-7742_, ~zk-7742 (@ZK-7742)", ["zk-7742"]), ("ZK\u00ad-77\u200b42", ["zk-7742"]), ("in the 1990s", [])],
)  # fmt: skip
def test_a_name_is_told_whatever_is_around_it(text: str, names: list[str]) -> None:
    assert numbered(text) == names


@pytest.mark.parametrize(
    ("question", "share"),
    [("E40310", 1.0), ("#E40310", 1.0), ("v2.4.11", 1.0), ("v2.4.10", 0.0), ("eng-4031", 1.0), ("E-4031", 0.0),
     ("e 4031", 0.0), ("e4031", 0.0), ("sha256 and ENG_104", 1.0), ("77-20481", 1.0), ("77-20418", 0.0),
     ("(77 20418)", 0.0), ("GV8K5M", 1.0), ("gv8k2m", 0.0), ("GV 8K2M", 0.0), ("May,2023", 0.0), ("Q1 2023", 0.0),
     ("40 % of 3.5 mg", 0.0), ("10:30 on 2022-11-10", 0.0), ("the 3rd of May 1999", 0.0),
     ("荷物は毎朝900時に発送", 0.0), ("queue", 0.0), ("?", 0.0), ("", 0.0)],
)  # fmt: skip
def test_the_share_of_a_question_that_is_names_which_nobody_wrote_down(
    index: LexicalIndex, question: str, share: float
) -> None:
    filled(index, a="Letters are sent by the queue.", b="It answers E4031. See 77-20418.", c="V2.4.10 is out: GV8K2M")
    assert index.search(question, filter=EVERYONE, limit=1).unknown == pytest.approx(share)


def test_parts_that_stand_apart_are_not_the_name(index: LexicalIndex) -> None:
    filled(index, a="WS-2026-03: 14 people could read it.", b="Order 20418 of desk 77.")
    for question in ("WS-2026-14", "77-20418"):
        assert index.search(question, filter=EVERYONE, limit=1).unknown == pytest.approx(1.0)


@pytest.mark.parametrize("heading", ["[5.2.0] - 2026-03-01", "Release 5.2.0", "Version 5.2.0 is out"])
def test_a_version_is_known_without_its_letter(index: LexicalIndex, heading: str) -> None:
    filled(index, a=heading, b="What came with the fifth version?")
    assert index.search("v5.2.0", filter=EVERYONE, limit=1).unknown == 0.0
    assert index.search("v5.2.1", filter=EVERYONE, limit=1).unknown == pytest.approx(1.0)


@pytest.mark.parametrize("question", ["IT-20331", "as-20331", "T-20331", "NO-20331", "OPS-20331"])
def test_another_prefix_is_another_name_though_it_be_a_stop_word(index: LexicalIndex, question: str) -> None:
    filled(index, a="INC-20331: the gateway refused cards.", b="Nothing else.")
    assert index.search(question, filter=EVERYONE, limit=1).unknown == pytest.approx(1.0)
    index.apply(batch(2, record("c", f"Solved with {question}.")))
    assert index.search(question, filter=EVERYONE, limit=1).unknown == 0.0


def test_the_year_in_a_name_counts_as_a_year_does(index: LexicalIndex) -> None:
    reviews = {f"r{number}": f"In March 2026 we reviewed the proxies, part {number}." for number in range(6)}
    filled(index, **reviews, a="We patched all edge nodes against the hole in the library.")
    found = index.search("patched hole CVE-2026-31999 proxies", filter=EVERYONE, limit=9)
    assert found.hits.ids[0] == "a"


def test_the_share_is_that_of_the_question_and_ends_with_the_first_record_that_has_it(index: LexicalIndex) -> None:
    filled(index, a="Letters are sent by the queue.", b="It answers E4031.")
    asked = "which letters does E40310 send"
    assert 0.3 < index.search(asked, filter=EVERYONE, limit=1).unknown < 0.9
    index.apply(batch(2, record("c", "Its successor is E-40310.")))
    assert index.search(asked, filter=EVERYONE, limit=1).unknown == 0.0


def test_what_has_the_name_comes_before_what_has_all_the_other_words(index: LexicalIndex) -> None:
    others = {f"o{number}": f"A report of the year, {number}." for number in range(20)}
    filled(index, **others, a="A study of MM-401 in cells.", b="Inhibition of tumour growth reduces cancer in mice.")
    asked = "inhibition of MM-401 reduces tumour growth in mice"
    found = index.search(asked, filter=EVERYONE, limit=9)
    assert found.hits.ids == ["a", "b"]
    plain = index.search(asked, filter=EVERYONE, limit=9, heed_names=False)
    assert plain.hits.ids == ["b", "a"]
    # What can be reached grows with what counts for more, so that a share stays a share.
    assert all(0 <= hit.score <= found.ceiling and 0 <= hit.coverage <= 1 for hit in found.hits)
