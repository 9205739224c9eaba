"""Read a repository and its ranges by the program `git`, which runs nothing that the repository configures."""

import difflib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cli.release_notes.facts import Commit, End, FactsRequest, Person, Progress, ReleaseNotesFailed
from cli.release_notes.web import without_credentials
from tools.imports import files

MOST_COMMITS = 50_000
"""A longer range is cut at its old end, with a remark."""
LONGEST_REF = 1_000
_TAGGED = re.compile(r"(?:.*?[@/_-])?[vV]?\d")
MOST_PATHS, BIGGEST_FILE, SILENCE_S = 400, 1_000_000, 60
LONGEST_SUBJECT, LONGEST_BODY, MOST_CO_AUTHORS = 2_000, 20_000, 100
_FORMAT = "%H %P%x00%aN%x00%aE%x00%cd%x00%B%x00"
_SETTINGS = ("log.showSignature=false", "core.fsmonitor=false", "versionsort.suffix=-", "credential.interactive=false")
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
_FOOTER = re.compile(r"(?<=[^\n])\n(BREAKING[ -]CHANGES?(?:\([^)]*\))?:)")
LONGEST_NAME = 200
CO_AUTHOR = re.compile(r"^\s*(?:\*\s*)?co-authored-by:\s*([^<\n]*?)\s*<([^>\n]*)>\s*$", re.I | re.M)
_BOT_NAME = re.compile(
    r"\[bot\]|(?:^|[\s_-])(?:ro)?bots?(?:$|[\s_-])|\bauto-?fix\b|\bpowered by ai\b|releas(?:er|e-please)$"
    r"|^(?:dependabot|renovate|greenkeeper|github[- ]actions|pre-commit(?:-ci\S*)?|mergify|semantic-release|bors|homu"
    r"|(?:hosted )?weblate|crowdin|all-?contributors|codecov|copybara|web-flow|scala steward|aider(?: \(.*\))?|gpt-\S+"
    r"|(?:\w+ )?(?:copilot|codex)|antigravity)$|\bclaude (?:code|opus|sonnet|haiku)\b|\bcursor ?(?:agent|ai)\b",
    re.I,
)
"""Not Claude or Jules alone: those may be people; their addresses identify the programs."""
_BOT_EMAIL = re.compile(r"\[bot\]@|^(?:bots?|no-?reply|cursoragent)@|@(?:users\.noreply\.)?bots?\.|-bot@", re.I)
_PROBLEMS = {
    r"could not resolve|name or service": "its host cannot be found",
    r"failed to connect|connection refused|couldn't connect": "its host cannot be reached",
    r"timed out|too slow": "its host does not answer",
    r"could not read username|authentication failed|permission denied":
        "it asks for credentials: put them into the address, or use SSH with a running agent",
    r"not found|not appear to be": "there is no repository at this address, or it is private",
    r"host key": "its host key is not known: connect to it once with `ssh`",
    r"not allowed|not supported|remote helper": "this kind of address is not supported",
    r"dubious ownership":
        "it belongs to another user; `git config --global --add safe.directory PATH` allows it",
    r"not a git repository": "it is no Git repository itself, nor inside of one",
}  # fmt: skip


class Repository:
    """A repository of this machine; with `is_top` the folder has to be its top."""

    def __init__(self, folder: Path, *, is_top: bool = False) -> None:
        self.folder = folder
        self._environ = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        # What a partial clone lacks is not fetched.
        self._environ |= {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
        if is_top:
            self._environ["GIT_CEILING_DIRECTORIES"] = str(folder.absolute().parent)
        if not folder.exists():
            raise ReleaseNotesFailed(f"There is no {'repository at' if is_top else 'folder'} {folder}.")
        self.is_shallow = self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def _command(self, *words: str) -> list[str]:
        settings = (word for each in _SETTINGS for word in ("-c", each))
        return [git_program(), "-C", str(self.folder), *settings, *words]

    def run(self, *words: str, check: bool = True) -> bytes:
        """Return the standard output of a Git command; empty if it fails unchecked."""
        done = subprocess.run(self._command(*words), env=self._environ, capture_output=True, check=False)  # noqa: S603 - Git's own program, no shell
        if done.returncode and check:
            reason = reason_of(done.stderr.decode(errors="replace")) or "something in it is missing or damaged"
            raise ReleaseNotesFailed(f"The repository {self.folder} cannot be read: {reason}.")
        return done.stdout if not done.returncode else b""

    def text(self, *words: str) -> str:
        """Return the standard output of a command; empty if it fails."""
        return self.run(*words, check=False).decode(errors="replace").strip()

    def commits(self, older: str, newer: str, most: int) -> list[Commit]:
        """Return the commits of `newer` that `older` lacks, newest first, children before their parents."""
        mark = os.urandom(16).hex()  # which no message can contain
        flags = ("--date-order", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--diff-merges=off", "--root")
        shown = ("--no-color", "--no-decorate", "--encoding=UTF-8", "--date=raw", f"--max-count={most}")
        range_ = (f"--format={mark}{_FORMAT}", newer, f"^{older}", "--")
        records = self.run("log", *flags, *shown, *range_).split(mark.encode())[1:]
        return [_commit(record) for record in records]

    def files(self, commit: str) -> list[str]:
        return _paths(self.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit))

    def changed(self, older: str, newer: str) -> dict[str, str]:
        """Return the paths that differ between two commits, by status: A, D, M or T."""
        told = _paths(self.run("diff-tree", "-r", "-z", "--name-status", "--no-renames", older, newer))
        return dict(zip(told[1::2], told[::2], strict=True))

    @cached_property
    def _batch(self) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        return subprocess.Popen(  # noqa: S603 - as above
            self._command("cat-file", "--batch"), env=self._environ, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )

    def content(self, commit: str, path: str) -> str:
        """Return the text of a file; empty if there is none, or if it is big or binary."""
        if "\n" in path or "\ufffd" in path or self._batch.stdin is None or self._batch.stdout is None:
            return ""
        self._batch.stdin.write(f"{commit}:{path}\n".encode("utf-8", "surrogateescape"))
        self._batch.stdin.flush()
        head = self._batch.stdout.readline().split()
        if len(head) != 3 or not head[2].isdigit():
            return ""
        data = self._batch.stdout.read(int(head[2]) + 1)[:-1]
        is_text = head[1] == b"blob" and len(data) <= BIGGEST_FILE and b"\0" not in data[:8_000]
        return data.decode("utf-8", errors="replace") if is_text else ""

    def close(self) -> None:
        if "_batch" in self.__dict__:
            self._batch.communicate()


def _commit(record: bytes) -> Commit:
    ids, name, email, at, message, *paths = record.split(b"\0")
    # A footer may follow the subject without a blank line.
    text = _FOOTER.sub(r"\n\n\1", decoded(message[: 10 * LONGEST_BODY]).strip("\n"), count=1)
    head, _, body = text.partition("\n\n")
    subject, body = " ".join(head.split())[:LONGEST_SUBJECT], body.strip("\n")[:LONGEST_BODY]
    author, sha, *parents = person(decoded(name), decoded(email)), *ids.decode().split()
    others = dict.fromkeys(person(*pair) for pair in CO_AUTHOR.findall(body)[:MOST_CO_AUTHORS])
    others.pop(author, None)
    touched = tuple(decoded(path.lstrip(b"\n")) for path in paths[: MOST_PATHS + 1] if path.strip())
    date = moment(at.decode(errors="replace"))
    return Commit(sha, tuple(parents), author, tuple(others), date, subject, body, touched)


def decoded(raw: bytes) -> str:
    return files.decoded(raw).replace("\r\n", "\n").replace("\r", "\n")


def moment(raw: str) -> datetime:
    """Return the time of `seconds +hhmm`; the epoch if it is none."""
    match = re.fullmatch(r"(-?\d{1,18}) ([+-]\d\d)(\d\d)\s*", raw)
    try:
        seconds, hours, minutes = map(int, match.groups() if match else (0, 0, 0))
        return datetime.fromtimestamp(seconds, timezone(timedelta(hours=hours, minutes=minutes)))
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def _paths(raw: bytes) -> list[str]:
    return [path.decode("utf-8", errors="replace") for path in raw.split(b"\0")[:-1]]


def git_program() -> str:
    program = shutil.which("git")
    if program is None:
        raise ReleaseNotesFailed("The program `git` is not installed; release notes are read by it.")
    return program


def reason_of(said: str) -> str:
    known = next((reason for mark, reason in _PROBLEMS.items() if re.search(mark, said, re.I)), None)
    lines = [line.partition(": ")[2] for line in said.splitlines() if line.startswith(("fatal:", "error:"))]
    return known or (lines[-1].rstrip(".") if lines else "")


@contextmanager
def opened(request: FactsRequest, progress: Progress) -> Iterator[Repository]:
    url = request.url
    local = _local_path(url) if url is not None else request.repository or Path.cwd()
    with nullcontext("") if local else tempfile.TemporaryDirectory(prefix="engrain-release-notes-") as temporary:
        folder = local or Path(temporary) / "repository.git"
        if url is not None and local is None:
            progress("Fetching the repository", without_credentials(url))
            _clone(url, folder)
        progress("Opening the repository", str(folder))
        with closing(Repository(folder, is_top=url is not None)) as repository:
            yield repository


def _local_path(url: str) -> Path | None:
    if not url.strip():
        raise ReleaseNotesFailed("--repo needs the address of a repository.")
    if url[:6].lower() == "file:/":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise ReleaseNotesFailed(f"--repo {url} names a host: of files there are only those of this machine.")
        return Path(unquote(parts.path))
    scheme = "://" in url or (":" in url.partition("/")[0] and not Path(url).exists())
    return None if scheme else Path(url).expanduser()


def _clone(url: str, folder: Path) -> None:
    # Nothing is asked for on the terminal, and of the user's settings none may run a program in the clone.
    limits = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": str(SILENCE_S), "GIT_TERMINAL_PROMPT": "0"}
    environ = {**os.environ, **limits, "GIT_ASKPASS": "true", "LC_ALL": "C"}
    environ["GIT_ALLOW_PROTOCOL"] = "http:https:ssh:git"
    environ.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=30")
    command = [git_program(), "-c", _SETTINGS[-1], "clone", "--bare", "--quiet", "--", url, str(folder)]
    done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        shown = without_credentials(url)
        reason = reason_of(done.stderr.decode(errors="replace").replace(url, shown))
        raise ReleaseNotesFailed(f"{shown} cannot be fetched: {reason if '@' not in reason else 'Git refused'}.")


def resolve(repository: Repository, ref: str, option: str) -> End:
    if not ref.strip():
        raise ReleaseNotesFailed(f"{option} needs a tag, a branch or a commit.")
    fit = len(ref) <= LONGEST_REF and "\0" not in ref and not ref.startswith("-")
    sha = repository.text("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") if fit else ""
    if not sha:
        raise _unknown(repository, ref, option, is_other=fit and bool(repository.text("rev-parse", "--verify", ref)))
    at = repository.run("log", "-1", "--format=%cd", "--date=raw", "--no-color", sha, "--").decode(errors="replace")
    tags = repository.text("tag", "--points-at", sha, "--sort=-version:refname").splitlines()
    asked = ref.removeprefix("refs/").removeprefix("tags/")
    tag = asked if asked in tags else next(filter(_TAGGED.match, tags), None)
    tagged = repository.text("for-each-ref", "--format=%(taggerdate:raw)", f"refs/tags/{tag}") if tag else ""
    return End(ref, sha, tag, moment(tagged or at))


def _unknown(repository: Repository, ref: str, option: str, *, is_other: bool) -> ReleaseNotesFailed:
    names = repository.text("for-each-ref", "--format=%(refname)").splitlines()
    if not repository.text("rev-parse", "--verify", "--quiet", "HEAD") and (ref.startswith("HEAD") or not names):
        return ReleaseNotesFailed("The repository has no commits yet, so there is nothing to write notes about.")
    if is_other:
        return ReleaseNotesFailed(f"{option} '{ref}' is not a commit, nor a tag of one.")
    if ".." in ref:
        return ReleaseNotesFailed(f"{option} '{ref}' is a range; give one end to --from and the other to --to.")
    message = f"{option} '{ref[:LONGEST_REF]}' is no tag, branch or commit of this repository."
    short = sorted({name.split("/", 2)[2] for name in names if name.count("/") >= 2})
    near = difflib.get_close_matches(re.split(r"[~^:{@]", ref[:LONGEST_REF])[0], short[:20_000], n=3, cutoff=0.7)
    message += f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if repository.is_shallow:
        message += " The clone is shallow and may lack it: `git fetch --unshallow --tags` fetches the rest."
    return ReleaseNotesFailed(message)


def range_between(repository: Repository, older: End, newer: End) -> tuple[list[Commit], list[str]]:
    """Check two ends; return the commits between, newest first, and remarks on possibly missing commits."""
    if older.sha == newer.sha:
        raise ReleaseNotesFailed(
            f"There is nothing between '{older.ref}' and '{newer.ref}': both are commit {older.sha[:10]}."
        )
    base = repository.text("merge-base", older.sha, newer.sha)
    ahead = repository.text("rev-list", "--count", older.sha, f"^{newer.sha}") if base != older.sha else ""
    ahead = "1 commit" if ahead == "1" else f"{int(ahead or 0):,} commits"
    if base == newer.sha:
        raise ReleaseNotesFailed(f"--from '{older.ref}' is newer than --to '{newer.ref}', by {ahead}; swap them.")
    if not base and not repository.is_shallow:
        raise ReleaseNotesFailed(
            f"'{older.ref}' and '{newer.ref}' have no commit in common: their histories are unrelated."
        )
    commits = repository.commits(older.sha, newer.sha, MOST_COMMITS + 1)
    remarks = []
    if not base:
        remarks.append(
            f"The clone is shallow and lacks the commits that connect {older.ref} and {newer.ref}: some of the oldest"
            " commits listed may belong to an earlier release, or be missing; `git fetch --unshallow` fetches them."
        )
    elif base != older.sha:
        remarks.append(f"{older.ref} has {ahead} that {newer.ref} lacks; they are not part of these notes.")
    if len(commits) > MOST_COMMITS:
        remarks.append(f"Only the newest {MOST_COMMITS:,} of the commits were read.")
    if base and repository.is_shallow and not all(commit.parents for commit in commits):
        remarks.append("The clone is shallow and ends within the range: older commits of the range may be missing.")
    return commits[:MOST_COMMITS], remarks


@lru_cache(maxsize=100_000)
def person(name: str, email: str) -> Person:
    name, email = (name.strip() or email.strip())[:LONGEST_NAME], email.strip()[:LONGEST_NAME]
    return Person(name, email, bool(_BOT_NAME.search(name) or _BOT_EMAIL.search(email)))


def contributors(commits: Sequence[Commit]) -> tuple[tuple[Person, int], ...]:
    """Return the people, by address or name, most commits first, without programs; merges are not counted."""
    known: dict[str, Person] = {}
    counts: Counter[Person] = Counter()
    for commit in commits:
        counted: set[Person] = set()
        for each in (*(() if len(commit.parents) > 1 else (commit.author,)), *commit.co_authors):
            user, _, host = each.email.lower().partition("@")
            user = user.rpartition("+")[2] if host == "users.noreply.github.com" else user
            keys = f"{user}@{host}", each.name.casefold()
            someone = next((known[key] for key in keys if key in known), each)
            known.update(dict.fromkeys(keys, someone))
            counted.add(someone)
        counts.update(counted)
    found = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].name.lower(), pair[0].email))
    return tuple(pair for pair in found if not pair[0].is_bot)
