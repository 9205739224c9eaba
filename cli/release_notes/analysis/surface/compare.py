"""Compare the two ends of a range: areas, dependencies, database migrations, moved files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.paths import area, is_migration, role
from cli.release_notes.analysis.surface.dependencies import is_manifest, stated_in
from cli.release_notes.analysis.surface.ends import Authors, Tree, worth_reading
from cli.release_notes.facts import Area, DependencyChange, Progress, SurfaceChange
from cli.release_notes.git.objects import CommitObject, Diff, Repository
from cli.release_notes.git.text import decoded_path
from cli.release_notes.git.trees import FileChange, between, files_of, line_counts

MOST_COUNTED = 3_000
MOST_LISTED = 500
_SHORT = 10


@dataclass(slots=True)
class Compared:
    surface: tuple[SurfaceChange, ...] = ()
    dependencies: tuple[DependencyChange, ...] = ()
    areas: tuple[Area, ...] = ()
    remarks: list[str] = field(default_factory=list)
    changelogs: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Comparison:
    files: Sequence[FileChange]
    old: Tree
    new: Tree
    authors: Authors
    result: Compared = field(default_factory=Compared)


def compare(
    repository: Repository, older: CommitObject, newer: CommitObject, entries: Sequence[Entry], progress: Progress
) -> Compared:
    """Compare two commits; remark what was too much to read."""
    diff, looked_for_renames = between(repository, older, newer)
    files = worth_reading(files_of(diff))
    authors = Authors.of(repository, str(newer.id), entries)
    work = _Comparison(files, Tree(repository, older), Tree(repository, newer), authors)
    progress("Comparing both ends", f"{len(files):,} files")
    work.result.areas = _areas(repository, diff, entries)
    work.result.changelogs = list(_changelogs(work))
    work.result.dependencies = tuple(_dependencies(work))
    work.result.surface = (*_migrations(work), *_moved(work))
    work.result.remarks += _remarks(work, len(diff), looked_for_renames=looked_for_renames)
    return work.result


def _areas(repository: Repository, diff: Diff, entries: Iterable[Entry]) -> tuple[Area, ...]:
    files: dict[str, list[int]] = {}
    shown = [decoded_path(delta.new_file.raw_path) for delta in diff.deltas]
    for number, added, removed in line_counts(repository, diff, MOST_COUNTED):
        row = files.setdefault(area(shown[number]), [0, 0, 0])
        row[0] += 1
        row[1] += added
        row[2] += removed
    commits: dict[str, int] = {}
    for entry in entries:
        for name in {area(path) for path in entry.touched.paths}:
            commits[name] = commits.get(name, 0) + 1
    found = [Area(name, commits.get(name, 0), row[0], row[1], row[2]) for name, row in files.items()]
    return tuple(sorted(found, key=lambda one: (-one.commits, -one.files, one.name)))


def _changelogs(work: _Comparison) -> Iterator[tuple[str, str, str]]:
    for file in work.files:
        if role(file.path) == "changelog":
            old = work.old.read(file.old_path) if file.old_id is not None else ""
            new = work.new.read(file.path) if file.new_id is not None else ""
            yield file.path, old or "", new or ""


def _dependencies(work: _Comparison) -> Iterator[DependencyChange]:
    for file in work.files:
        if file.old_module or file.new_module:
            yield _submodule(work, file)
        if not is_manifest(file.path) or role(file.path) in ("test", "example"):
            continue
        old = stated_in(file.old_path, work.old.read(file.old_path) or "") if file.old_id is not None else {}
        new = stated_in(file.path, work.new.read(file.path) or "") if file.new_id is not None else {}
        for key in sorted(old.keys() | new.keys()):
            before, after = old.get(key), new.get(key)
            stated = after or before
            if stated is None or (before and after and before.spec == after.spec):
                continue
            commits = work.authors.behind((file.path, file.old_path), _token(stated.name, after, before))
            yield DependencyChange(
                name=stated.name,
                ecosystem=stated.ecosystem,
                path=file.path,
                before=before.spec if before else None,
                after=after.spec if after else None,
                development=stated.development,
                commits=commits,
            )


def _submodule(work: _Comparison, file: FileChange) -> DependencyChange:
    return DependencyChange(
        name=file.path,
        ecosystem="submodule",
        path=file.path,
        before=file.old_module[:_SHORT] if file.old_module else None,
        after=file.new_module[:_SHORT] if file.new_module else None,
        development=False,
        commits=work.authors.behind((file.path,)),
    )


def _token(name: str, after: object, before: object) -> str:
    spec = getattr(after, "spec", "any")
    return name if after is None or before is None or spec == "any" else str(spec)


def _migrations(work: _Comparison) -> Iterator[SurfaceChange]:
    for file in work.files:
        if is_migration(file.path) and file.status != "renamed":
            before = None if file.status == "added" else file.old_path
            yield SurfaceChange(
                "migration", file.status, file.path, file.path, before, work.authors.behind((file.path,))
            )


def _moved(work: _Comparison) -> Iterator[SurfaceChange]:
    moved = [
        file
        for file in work.files
        if file.status == "renamed" and role(file.path) in ("source", "documentation", "manifest")
    ]
    for file in sorted(moved, key=lambda one: one.path)[:MOST_LISTED]:
        if PurePosixPath(file.path) != PurePosixPath(file.old_path):
            commits = work.authors.behind((file.path, file.old_path))
            yield SurfaceChange("moved", "renamed", file.path, file.path, file.old_path, commits)


def _remarks(work: _Comparison, count: int, *, looked_for_renames: bool) -> Iterator[str]:
    if skipped := max(work.old.skipped, work.new.skipped):
        yield f"{skipped:,} files were too much to read; what changed in their interfaces is not listed."
    if count > MOST_COUNTED:
        yield f"Lines were counted in {MOST_COUNTED:,} of {count:,} files."
    if not looked_for_renames:
        yield "Moved files are not listed: too many were added and deleted."
