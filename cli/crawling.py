"""`engrain crawl`: the server reads a site; a folder is read here and sent in batches."""

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import typer

from cli.client import Client, CommandFailed, guarded, open_client
from cli.client.failure import ExitCode, print_json, shown, understanding
from cli.client.server import JsonObject
from tools.crawling.texts import SUFFIXES, Unreadable, read_apart

DOCUMENTS, CHARACTERS = 64, 4_000_000
"""Limits of one request."""
MOST_FILES, LARGEST = 5_000, 10 * 1024 * 1024
POLL_S = 0.5
_UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})
ENDED = ("complete", "failed", "cancelled", "not_found")


@dataclass(frozen=True, slots=True)
class Options:
    source: str
    project: str | None
    name: str | None
    limits: Mapping[str, object]
    as_json: bool
    url: str | None


def run_crawl(environ: Mapping[str, str], options: Options) -> int:
    def command() -> None:
        with open_client(environ, url=options.url) as client:
            is_site = re.match(r"https?://", options.source, re.IGNORECASE)
            _tell(_site(client, options) if is_site else _folder(client, options), options)

    return guarded(command)


def _site(client: Client, options: Options) -> JsonObject:
    body = {"url": options.source, "source_name": options.name, "project": options.project, **options.limits}
    started = client.call(
        "POST", "/api/sources/crawl", {name: value for name, value in body.items() if value is not None}
    )
    with understanding(client.server.address):
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


def _folder(client: Client, options: Options) -> JsonObject:
    root = Path(options.source).expanduser().resolve()
    if not root.is_dir():
        raise CommandFailed(
            f"{options.source} is no folder, and no address that begins with https:// or http://.", code=ExitCode.USAGE
        )
    if unfit := [name for name, value in options.limits.items() if value is not None]:
        raise CommandFailed(f"--{unfit[0]} is for sites; a folder is read whole.", code=ExitCode.USAGE)
    paths = sorted(files_of(root, SUFFIXES))
    if not 0 < len(paths) <= MOST_FILES:
        what = "no file that can be read" if not paths else f"{len(paths)} files, more than {MOST_FILES}"
        kinds = ", ".join(SUFFIXES)
        raise CommandFailed(f"{options.source} holds {what}.", f"Files that are read end with {kinds}.")
    return _sent(client, options, root, paths)


def _sent(client: Client, options: Options, root: Path, paths: list[Path]) -> JsonObject:
    failures: list[JsonObject] = []
    urls = list[str]()
    counts = dict.fromkeys(("pages", "new_or_changed", "unchanged", "removed"), 0)
    target = _target(client, options, root)
    batches = _batches(root, paths, failures)
    batch = next(batches, None)
    while batch is not None:
        urls += [str(each["url"]) for each in batch]
        after = next(batches, None)
        # The last request names every file, so that documents of vanished files go.
        whole: JsonObject = {"only_urls": [*urls, *(str(each["url"]) for each in failures)]} if after is None else {}
        answer = client.call("POST", "/api/ingestion/documents", {**target, "documents": batch, **whole})
        with understanding(client.server.address):
            target = {"source_id": answer["source_id"]}
            counts["new_or_changed"] += len(answer["document_ids"])
            counts["unchanged"] += int(answer["skipped"])
            counts["removed"] += int(answer["removed"])
        counts["pages"] = len(urls) + len(failures)
        typer.echo(f"{counts['pages']} of {len(paths)} files", err=True)
        batch = after
    if not urls:
        first = failures[0]
        raise CommandFailed(f"No file of {options.source} could be read: {first['url']} {first['reason']}.")
    return {"source_id": target["source_id"], **counts, "unread": len(failures), "failures": failures}


def _batches(root: Path, paths: list[Path], failures: list[JsonObject]) -> Iterator[list[JsonObject]]:
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


def _target(client: Client, options: Options, root: Path) -> JsonObject:
    url, page, has_more = root.as_uri()[:2000], 1, True
    project = "" if options.project is None else f"&project_ids={quote(options.project, safe='')}"
    while has_more:
        listed = client.call("GET", f"/api/entities?entity_type=source&page_size=200&page={page}{project}")
        with understanding(client.server.address):
            for each in listed["entities"]:
                is_in_project = each["metadata"]["memory_scope"] == "project"
                if each["source_file"] == url and is_in_project is (options.project is not None):
                    return {"source_id": each["id"]}
            page, has_more = page + 1, bool(listed["has_more"])
    made = {"source_name": (options.name or root.name or str(root))[:200], "source_url": url}
    return {**made, **({"project": options.project} if options.project is not None else {})}


def _tell(result: JsonObject, options: Options) -> None:
    if options.as_json:
        print_json(result)
        return
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
