"""What the processor says of itself."""

from pathlib import Path

import pytest

from stores import processor

X86 = "processor\t: 0\nmodel name\t: Some Processor\nflags\t\t: fpu sse2 avx2 avx512_vnni\nflags\t: fpu\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd asimddp\n"


@pytest.mark.parametrize(
    ("said", "name", "instructions"),
    [
        (X86, "Some Processor", {"fpu", "sse2", "avx2", "avx512_vnni"}),
        (ARM, None, {"fp", "asimd", "asimddp"}),
        ("model name :\n", None, None),
        (None, None, None),
    ],
)
def test_it_is_read_from_what_the_system_says(
    monkeypatch: pytest.MonkeyPatch, said: str | None, name: str | None, instructions: set[str] | None
) -> None:
    def read(_path: Path, **_: object) -> str:
        if said is None:
            raise FileNotFoundError
        return said

    monkeypatch.setattr(Path, "read_text", read)
    assert processor.model_name() == name
    assert processor.instructions() == instructions
