"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data folder (ENGRAIN_DATA_DIR).")]
UrlOption = Annotated[str | None, typer.Option("--url", help="Address of the server (ENGRAIN_URL).")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
OrganizationOption = Annotated[str | None, typer.Option("--organization", help="Only this organization (id or slug).")]
