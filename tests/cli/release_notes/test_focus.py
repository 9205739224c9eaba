"""Instructions without a model: they choose and order, and say so."""

from cli.release_notes.document.drafting import draft
from cli.release_notes.document.markdown import render
from cli.release_notes.document.presets import PRESETS, PresetName
from cli.release_notes.focus import read_focus
from tests.cli.release_notes.making import facts


def test_the_document_says_what_was_chosen_and_changes_with_it() -> None:
    preset = PRESETS[PresetName.DEFAULT]
    asked = render(draft(facts(), preset, read_focus("bobbins first, without security")), preset)
    assert asked.index("Wind bobbins") < asked.index("Keep the thread")
    assert "begin each list with what concerns bobbins" in asked
    assert "leave out what concerns security" in asked
    assert "Refuse cards" not in asked
    plain = render(draft(facts(), preset, read_focus("without docs and shuttle")), preset)
    assert "documentation change" not in plain
    assert "Drop the `--shuttle` flag" in plain, "what breaks is never left out"
    only = render(draft(facts(), preset, read_focus("only bobbins")), preset)
    assert "brings 1 breaking change, 1 feature, 1 improvement and 2 fixes" in only, "what there is stays what there is"
    assert "### Fixes\n\nNone of those that were asked for." in only
    assert "Drop the `--shuttle` flag" in only
    assert "Nothing" not in render(draft(facts(), preset, read_focus("kubernetes")), preset).split("## Highlights")[0]
