"""`engrain crawl`: the server reads a site; a folder is read here and sent in batches."""

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import anyio
import typer

from cli.client import Client, CommandFailed, open_client
from cli.client.failure import ExitCode, print_json, shown
from cli.client.server import JsonObject
from cli.options import JsonOption, UrlOption
from tools.crawling.texts import SUFFIXES, Unreadable, read_apart

DOCUMENTS, CHARACTERS = 64, 4_000_000
"""Limits of one request."""
MOST_FILES, LARGEST = 5_000, 10 * 1024 * 1024
POLL_S = 0.5
_UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})
ENDED = ("complete", "failed", "cancelled", "not_found")


def crawl(  # noqa: PLR0913 - a parameter for each flag
    source: Annotated[str, typer.Argument(help="A folder, or the address of a site or sitemap.", show_default=False)],
    project: Annotated[str | None, typer.Option("--project", "-p", help="Id or name of the project.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the source, if it is new.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Links to follow from the first page; 3 by default.")] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Most pages to read; 200 by default.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Only pages whose path fits, such as '/guide/*'; repeatable.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No pages whose path fits; repeatable.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """The server reads a site; this command reads a folder: Markdown, reStructuredText, text, HTML and PDF files."""
    limits = {"depth": depth, "pages": pages, "include": include, "exclude": exclude}
    with open_client(os.environ, url=url) as client:
        if re.match(r"https?://", source, re.IGNORECASE):
            result = _site(client, {"url": source, "source_name": name, "project": project, **limits})
        elif unfit := [name for name, value in limits.items() if value is not None]:
            raise CommandFailed(f"--{unfit[0]} is for sites; a folder is read whole.", code=ExitCode.USAGE)
        else:
            root, paths = _files(source)
            result = _sent(client, root, paths, _target(client, project, name, root))
        print_json(result) if as_json else _tell(result)


def _site(client: Client, body: JsonObject) -> JsonObject:
    started = client.call("POST", "/api/sources/crawl", body)
    path, told = f"/api/jobs/{quote(started['job_id'], safe='')}", None
    typer.echo(f"{started['message']} Ctrl-C does not end it; POST {path}/cancel does.", err=True)
    job: JsonObject = {"status": ""}
    while job["status"] not in ENDED:
        time.sleep(POLL_S)
        job = client.call("GET", path)
        if (progress := job["progress"]) and progress != told:
            told = progress
            typer.echo(f"{progress['done']} of {progress['total']} pages", err=True)
    if job["status"] != "complete":
        raise CommandFailed(f"The crawl ended as {job['status']}: {job['error'] or 'nothing was said'}")
    return dict(job["result"])


def _files(source: str) -> tuple[Path, list[Path]]:
    root = Path(source).expanduser().resolve()
    if not root.is_dir():
        raise CommandFailed(
            f"{source} is neither a folder nor an address that begins with https:// or http://.", code=ExitCode.USAGE
        )
    paths = sorted(files_of(root, SUFFIXES))
    if not 0 < len(paths) <= MOST_FILES:
        what = "no file that can be read" if not paths else f"{len(paths)} files, more than {MOST_FILES}"
        kinds = ", ".join(SUFFIXES)
        raise CommandFailed(f"{source} holds {what}.", f"Files that are read end with {kinds}.")
    return root, paths


def _sent(client: Client, root: Path, paths: list[Path], target: JsonObject) -> JsonObject:
    failures: list[JsonObject] = []
    urls = list[str]()
    counts = dict.fromkeys(("pages", "new_or_changed", "unchanged", "removed"), 0)
    waiting = batches(root, paths, failures)
    batch = next(waiting, None)
    while batch is not None:
        urls += [str(each["url"]) for each in batch]
        after = next(waiting, None)
        # The last request names every file, so that documents of vanished files go.
        whole: JsonObject = {"only_urls": [*urls, *(str(each["url"]) for each in failures)]} if after is None else {}
        answer = client.call("POST", "/api/ingestion/documents", {**target, "documents": batch, **whole})
        target = {"source_id": answer["source_id"]}
        counts["new_or_changed"] += len(answer["document_ids"])
        counts["unchanged"] += int(answer["skipped"])
        counts["removed"] += int(answer["removed"])
        counts["pages"] = len(urls) + len(failures)
        typer.echo(f"{counts['pages']} of {len(paths)} files", err=True)
        batch = after
    if not urls:
        first = failures[0]
        raise CommandFailed(f"No file of {root} could be read: {first['url']} {first['reason']}.")
    return {"source_id": target["source_id"], **counts, "unread": len(failures), "failures": failures}


def batches(root: Path, paths: Iterable[Path], failures: list[JsonObject]) -> Iterator[list[JsonObject]]:
    """Yield the documents of requests; add the files that cannot be read to `failures`."""
    batch: list[JsonObject] = []
    room = CHARACTERS
    for path in paths:
        # A file name need not be valid Unicode; a request must be.
        url = path.relative_to(root).as_posix().encode(errors="replace").decode()[:2000]
        try:
            if path.stat().st_size > LARGEST:
                raise Unreadable(f"has more than {LARGEST // 1024} KiB")
            found = anyio.run(read_apart, path.name, "", path.read_bytes())
            if not found.text:
                raise Unreadable("holds no text")
        except (Unreadable, OSError) as error:
            failures.append({"url": url, "reason": str(error)})
            continue
        batch.append({"url": url, "title": found.title or None, "content": found.text})
        room -= len(found.text)
        if len(batch) == DOCUMENTS or room <= 0:
            yield batch
            batch, room = [], CHARACTERS
    if batch:
        yield batch


def _target(client: Client, project: str | None, name: str | None, root: Path) -> JsonObject:
    url, page, has_more = root.as_uri()[:2000], 1, True
    within = "" if project is None else f"&project_ids={quote(project, safe='')}"
    while has_more:
        listed = client.call("GET", f"/api/entities?entity_type=source&page_size=200&page={page}{within}")
        for each in listed["entities"]:
            is_in_project = each["metadata"]["memory_scope"] == "project"
            if each["source_file"] == url and is_in_project is (project is not None):
                return {"source_id": each["id"]}
        page, has_more = page + 1, bool(listed["has_more"])
    return {"source_name": (name or root.name or str(root))[:200], "source_url": url, "project": project}


def _tell(result: JsonObject) -> None:
    for each in result["failures"]:
        typer.echo(f"{shown(str(each['url']))} {shown(str(each['reason']))}", err=True)
    names = ("new", "changed", "new_or_changed", "unchanged", "removed", "unread")
    told = ", ".join(f"{result[name]} {name.replace('_', ' ')}" for name in names if name in result)
    typer.echo(f"{result['source_id']}: {result['pages']} read: {told}")
    if result.get("more_pages"):
        typer.echo("There are more pages: raise --pages to read them.", err=True)


def files_of(root: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Return the files with these suffixes, without hidden ones, links and installed packages."""
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _UNREAD_FOLDERS]
        for path in (Path(place, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() in suffixes and not path.is_symlink():
                yield path
