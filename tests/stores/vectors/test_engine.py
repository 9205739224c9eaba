"""How LanceDB is loaded: without what a folder never asks, and with it for whoever does."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

CATALOGUE = "lance_namespace_urllib3_client"
ENGINE = "import sys; from stores.vectors.engine import CATALOGUE, connect, defer"


def run(script: str, path: Path | None = None) -> str:
    """Each of these needs an interpreter that has loaded nothing."""
    found = "" if path is None else f"import sys; sys.path.append({str(path)!r}); "
    done = subprocess.run([sys.executable, "-c", found + script], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_engine_is_loaded_without_a_client_of_remote_catalogues() -> None:
    assert run(f"{ENGINE}; print(any(name.startswith(f'{{CATALOGUE}}.api') for name in sys.modules))") == "False"


def test_whoever_asks_for_the_client_gets_it() -> None:
    told = run(f"{ENGINE}; import {CATALOGUE} as whole; print(whole.TableApi, whole.__version__)")
    assert told == f"<class '{CATALOGUE}.api.table_api.TableApi'> {version(CATALOGUE)}"


def test_a_client_that_is_loaded_stays_as_it_is() -> None:
    script = f"import {CATALOGUE} as before; {ENGINE}; print(sys.modules[CATALOGUE] is before)"
    assert run(script) == "True"


def test_what_stands_in_for_the_client_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("")
    script = f"{ENGINE}; import late; late.__spec__ = None; defer('late'); print(sys.modules['late'] is late)"
    assert run(script, tmp_path) == "True"


@pytest.mark.parametrize(
    ("name", "said"),
    [("late.inner", "inner"), ("late", ""), ("late; late.PLAIN", "whole"), ("late.inner; late.PLAIN", "inner whole")],
)
def test_a_deferred_package_loads_what_is_asked_of_it(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "__init__.py").write_text("print('whole', end=' ')\nPLAIN = 1\n")
    (tmp_path / "late" / "inner.py").write_text("print('inner', end=' ')\n")
    assert run(f"{ENGINE}; defer('late'); import {name}", tmp_path) == said


def test_a_package_that_is_not_there_is_missed_by_who_imports_it() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(f"{ENGINE}; defer('nowhere_to_be_found'); import nowhere_to_be_found")
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in failed.value.stderr
