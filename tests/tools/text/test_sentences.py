import pytest

from tools.text.sentences import sentences

CASES = {
    "two": ("It works. Ship it.", ["It works.", "Ship it."]),
    "version": ("We use v1.2.3 of it. Fine.", ["We use v1.2.3 of it.", "Fine."]),
    "decimal": ("It took 3.5 s and 2,000.50 MB. Good.", ["It took 3.5 s and 2,000.50 MB.", "Good."]),
    "unit at the end": ("It took 3.5 s. Then 220 ms. Done.", ["It took 3.5 s.", "Then 220 ms.", "Done."]),
    "path": ("Edit src/a.py. then run it", ["Edit src/a.py.", "then run it"]),
    "path inside": ("Look at tools/x.y/z.py for it.", ["Look at tools/x.y/z.py for it."]),
    "address": ("See https://a.example/b.html?x=1. Done.", ["See https://a.example/b.html?x=1.", "Done."]),
    "code": ("Call `a.b(). c` first. Then stop.", ["Call `a.b(). c` first.", "Then stop."]),
    "abbreviation": ("Use e.g. Redis, i.e. memory, approx. 5 MB. Yes.",
                     ["Use e.g. Redis, i.e. memory, approx. 5 MB.", "Yes."]),
    "abbreviation before a capital": ("Drop it on 1 Sept. The rest stays.", ["Drop it on 1 Sept.", "The rest stays."]),
    "abbreviation before a number": ("See fig. 3 and No. 5 on p. 7. Yes.", ["See fig. 3 and No. 5 on p. 7.", "Yes."]),
    "etc": ("Logs, traces etc. are kept. Metrics etc. Others too.",
            ["Logs, traces etc. are kept.", "Metrics etc.", "Others too."]),
    "initials": ("R. Gupta and Dr. M. Ito agreed. Fine.", ["R. Gupta and Dr. M. Ito agreed.", "Fine."]),
    "letter after a number": ("It needs 5 V. Then it starts.", ["It needs 5 V.", "Then it starts."]),
    "time of day": ("Called at 5 p.m. yesterday. They agreed at 3 a.m. Then slept.",
                    ["Called at 5 p.m. yesterday.", "They agreed at 3 a.m.", "Then slept."]),
    "quotation": ('He said "Drop it. Now." and left. Bye.', ['He said "Drop it. Now." and left.', "Bye."]),
    "quotation at the end": ('He said "Drop it." Then he left.', ['He said "Drop it."', "Then he left."]),
    "brackets": ("It fails (see bar. baz) often. Next.", ["It fails (see bar. baz) often.", "Next."]),
    "dots": ("Wait... what? Yes... No.", ["Wait... what?", "Yes...", "No."]),
    "marks": ("Really?! Yes!!! Ok", ["Really?!", "Yes!!!", "Ok"]),
    "wrapped": ("We moved it\n  to the other. Then\nit worked.", ["We moved it\n  to the other.", "Then\nit worked."]),
    "markup": ("**We agreed.** _Then_ it *worked.* Yes", ["**We agreed.**", "_Then_ it *worked.*", "Yes"]),
    "number of a step": ("1. Stop it first. Then start.", ["1. Stop it first.", "Then start."]),
    "no mark": ("no full stop here", ["no full stop here"]),
    "other scripts": ("日本語です。次の文。", ["日本語です。", "次の文。"]),
    "nothing": ("  \n ", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected
