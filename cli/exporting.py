"""`engrain export`: all that the caller may read, as JSON Lines, Parquet or a folder of notes."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import urlencode

import typer

from cli.client import Client, CommandFailed, open_client
from cli.client.failure import ExitCode, print_json
from cli.client.server import JsonObject
from cli.options import JsonOption, UrlOption
from tools.imports.adapters.json_lines import FORMAT, NESTED, TEXTS, VERSION

PATH = "/api/export"
NAME_LENGTH = 60
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|#^\[\]`]+')


def json_lines(path: Path, pages: Iterable[list[JsonObject]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for lines in chain([[{"format": FORMAT, "version": VERSION}]], pages):
            file.writelines(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines)


def parquet(path: Path, pages: Iterable[list[JsonObject]]) -> None:
    from stores.parquet import write_texts  # noqa: PLC0415 - only this format needs it

    def row(line: JsonObject) -> JsonObject:
        return line | {name: json.dumps(line[name]) for name in NESTED if name in line}

    write_texts(path, (*TEXTS, *NESTED), ([row(each) for each in lines] for lines in pages))


def markdown(folder: Path, pages: Iterable[list[JsonObject]]) -> None:
    folder.mkdir()
    names, taken = dict[str, str](), set[str]()
    for line in chain.from_iterable(pages):
        if line["kind"] == "record":
            name = f"{_safe(line['type'])}/{_safe(_title(line)) or _safe(line['id'])}"
            name = f"{name} ({_safe(line['id'])})" if name.casefold() in taken else name
            taken.add(name.casefold())
            names[line["id"]] = name
            path = folder / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(_note(line), encoding="utf-8", newline="\n")
        elif line["source_id"] in names and line["target_id"] in names:
            until = f" until {line['invalid_at']}" if line["invalid_at"] else ""
            with (folder / f"{names[line['source_id']]}.md").open("a", encoding="utf-8", newline="\n") as file:
                file.write(f"\n{line['name']} [[{names[line['target_id']]}]]{until}\n")


def _title(line: JsonObject) -> str:
    return str(line["name"] or line["content"].strip().partition("\n")[0][:NAME_LENGTH])


def _safe(text: object) -> str:
    return " ".join(_UNSAFE.sub(" ", str(text)).split())[:NAME_LENGTH].strip(". ")


def _note(line: JsonObject) -> str:
    created = (line["capture"] or {}).get("captured_at", line["created_at"])
    front = {
        "id": line["id"], "type": line["type"], "title": _title(line), "tags": line["tags"], "created": created,
        "updated": line["updated_at"], "status": line["metadata"].get("status"),
    }  # fmt: skip
    head = "".join(f"{key}: {_yaml(value)}\n" for key, value in front.items() if value)
    return f"---\n{head}---\n" + "".join(f"{each}\n" for each in (line["description"], line["content"]) if each)


def _yaml(value: object) -> str:
    items = value if isinstance(value, list) else []
    return "".join(f"\n  - {_yaml(each)}" for each in items) or json.dumps(value, ensure_ascii=False)


WRITERS = {"jsonl": json_lines, "parquet": parquet, "markdown": markdown}


def export(
    target: Annotated[Path, typer.Argument(help="The file to write; with markdown, the folder. It is made new.")],
    format_name: Annotated[str, typer.Option("--format", "-f", help="jsonl, parquet or markdown.")] = "jsonl",
    project: Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    target = target.expanduser().absolute()
    if format_name not in WRITERS:
        known = ", ".join(WRITERS)
        raise CommandFailed(f"There is no format {format_name}.", f"Formats are {known}.", code=ExitCode.USAGE)
    if target.exists() or not target.parent.is_dir():
        reason = "exists" if target.exists() else "is in no folder"
        raise CommandFailed(f"{target} {reason}.", "Name another place.", code=ExitCode.USAGE)
    with open_client(os.environ, url=url) as client:
        try:
            counts = _write(client, format_name, project, target)
        except OSError as error:
            raise CommandFailed(f"{target} cannot be written: {error}.", "Free it, or name another one.") from None
    if as_json:
        print_json({"path": str(target), "format": format_name, "lines": counts})
        return
    told = ", ".join(f"{count:,} {kind}{'s' if count != 1 else ''}" for kind, count in counts.items()) or "nothing"
    typer.echo(f"Exported {told} to {target}.")


def _write(client: Client, form: str, project: str | None, target: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    # Beside the target, so that it can be renamed; readable by this user only.
    with TemporaryDirectory(prefix=".engrain-export-", dir=target.parent) as folder:
        written = Path(folder) / "new"
        WRITERS[form](written, _pages(client, project, counts))
        written.chmod(0o700 if written.is_dir() else 0o600)
        written.rename(target)
    return dict(counts)


def _pages(client: Client, project: str | None, counts: Counter[str]) -> Iterator[list[JsonObject]]:
    query = {"project": project} if project else {}
    while True:
        page = client.patient_call("GET", f"{PATH}?{urlencode(query)}")
        counts.update(str(each["kind"]) for each in page["lines"])
        yield page["lines"]
        if page["next_cursor"] is None:
            return
        query["cursor"] = page["next_cursor"]
