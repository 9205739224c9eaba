import pytest

from stores.language.code import is_code

CODE = {
    "python": "def total(prices):\n    return sum(price for price in prices if price)\n",
    "mostly documentation": '''def fetch(url):
    """Get a page, and try again where that fails.

    The pause doubles each time. Nothing is kept of what failed before; see the notes of the team.
    """
    return client.get(url)
''',
    "a comment on every line": "# First the keys,\nkeys = sorted(found)\n# then what is left of it.\nrest = f(keys)",
    "one line of JavaScript": "const last = list => list[list.length - 1];",
    "a list of names in C": "enum colour {\n  RED,\n  GREEN,\n  BLUE\n};",
    "rust": "fn main() {\n    let n = 3;\n    println!(\"{}\", n);\n}",
    "sql": "SELECT name, count(*)\nFROM orders\nWHERE paid = 1\nGROUP BY name",
    "shell": "for f in *.txt; do\n  mv \"$f\" \"${f%.txt}.md\"\ndone",
    "go": "func (s *Store) Get(key string) (string, error) {\n\tv, ok := s.m[key]\n\treturn v, check(ok)\n}",
    "a class without a body": "class Kettle(Vessel):\n    pass",
}  # fmt: skip
PROSE = {
    "nothing": "",
    "blanks": " \n \t\n",
    "a word": "kettle",
    "a sentence with a call": "We call close(handle) when left == 0, see rows[3].",
    "a message": "[2 March 2026, 9:00] Ines: use pytest, not nose (it is dead)",
    "small letters": "let me know if the class of 2020 comes\nmy laptop is at home\nreturn to sender",
    "a list": "- for the rack\n- while we wait: tea\n- if (and only if) it rains",
    "a note with an example": "# Deploy\n\nRun the script with a stage, and wait.\n\n```\n./deploy stage=2\n```"
    "\n\nThen look at the page of the service.\nIf it is red, go back to what was there before.",
    "a table": "| name | value |\n| --- | --- |\n| alpha | 3 |\n| beta = 4 | 5 |",
    "an address": "https://example.org/find?q=tea&n=3",
    "a log": "2026-03-02 09:00:01 INFO worker.start(pid=3)\n2026-03-02 09:00:02 ERROR worker.stop(code=1)",
    "settings": "name: value\nother: 3",
    "an equation": "E = mc^2",
    "a long paragraph": "The kinase (p = 0.01; n = 12) binds the receptor in most cells that were looked at, " * 20,
}  # fmt: skip


@pytest.mark.parametrize("text", CODE.values(), ids=CODE)
def test_code(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_prose(text: str) -> None:
    assert not is_code(text)


@pytest.mark.parametrize("part", ['"""', "/*", "<!--", "a(", "a[", "def ", "<a", "if ", "a=", "'", "x = y\n", "ab "])
def test_repetition_is_read_and_bounded(part: str) -> None:
    assert is_code(part * 200_000) is (part == "x = y\n")
