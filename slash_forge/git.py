"""One bare repository on disk; all refs, commits and trees are read from it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

from slash_forge.loose_objects import nested, write_object, write_tree

T = TypeVar("T")

_ID_LINE = re.compile(r"[0-9a-f]{40}\n")
# Maximum number of cached results about commits.
_CACHE_SIZE = 4096
# `git log` fields, separated by NUL; the message comes last because it may hold anything else.
_COMMIT_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
_COMMIT_FIELDS = 10
# Git's id for "no object".
NULL_SHA = "0" * 40
# Characters that git strips from both ends of a name or an address.
_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
# A ref name that is certainly valid: no dot, no special character.
_PLAIN_REF = re.compile(r"refs(/[0-9A-Za-z_-]+){2,}")
# GitHub serves any object of the repository by its id, and partial clones.
_CONFIG = """\
[core]
    repositoryformatversion = 0
    filemode = true
    bare = true
[http]
    receivepack = true
[uploadpack]
    allowAnySHA1InWant = true
    allowFilter = true
[receive]
    hideRefs = refs/pull
    autogc = false
[gc]
    auto = 0
"""
# GitHub accepts changes of workflows only with the permission `workflows`, which the token of Actions never has.
_UPDATE_HOOK = """\
#!/bin/sh
if [ -n "$FORGE_BRANCHES" ] && ! printf %s "$FORGE_BRANCHES" | grep -Fqx -- "$1"; then
    echo "permission denied: only the head of the pull request may be written" >&2
    exit 1
fi
while IFS= read -r pattern; do
    [ -n "$pattern" ] || continue
    case $1 in
    $pattern) echo "error: GH013: Repository rule violations found for $1." >&2; exit 1 ;;
    esac
done <<PATTERNS
$FORGE_GUARDED
PATTERNS
[ -n "$FORGE_WORKFLOWS" ] && exit 0
case $3 in *[!0]*) ;; *) exit 0 ;; esac
touched=$(git log --format= --name-only "$3" --not --all -- .github/workflows | sed -n 1p)
[ -z "$touched" ] && exit 0
echo "refusing to allow a GitHub App to create or update workflow \\`$touched\\` without \\`workflows\\` permission" >&2
exit 1
"""


class GitFailed(Exception):
    """A git command failed; the message is the last line of its standard error."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Author or committer; `at` is seconds since the epoch."""

    name: str
    email: str
    at: int


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


@dataclass(frozen=True, slots=True)
class Ref:
    """`kind` is the type of the object it points at: commit or tag, as a rule."""

    name: str
    sha: str
    kind: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a tree. `size` is 0 for anything but a blob."""

    path: str
    mode: str
    kind: str
    sha: str
    size: int


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of every git process: no configuration of the user or the system."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **(extra or {}),
    }


def _state_of(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """What tells whether a file of `folder` has changed: path, mode, size and time of each."""
    files = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    states = [(str(path), path.lstat()) for path in files]
    return tuple((path, state.st_mode, state.st_size, state.st_mtime_ns) for path, state in states)


@lru_cache(maxsize=32)
def _packed(folder: Path, state: object) -> tuple[str, Mapping[str, bytes]]:
    """The tree of the files of `folder`, ignore rules applied, and by their suffix the files of a pack that holds it.
    Cached while its `state` stays: tests make a thousand repositories of one folder."""
    with TemporaryDirectory(prefix="slash-forge-") as scratch:
        git = BareRepository.create(Path(scratch), "main")
        git.run(f"--work-tree={folder}", "-c", "core.bare=false", "add", "--all", str(folder))
        tree = git.run("write-tree").decode().strip()
        git.run("pack-objects", "-q", "--revs", str(git.path / "made"), stdin=f"{tree}\n".encode())
        return tree, {file.suffix: file.read_bytes() for file in git.path.glob("made-*")}


class BareRepository:
    """Git's plumbing on one folder. Thread-safe, as git's own locks are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cache: dict[tuple[object, ...], object] = {}
        # Refs that are reported with another commit than they have; None hides the ref.
        self.hidden: Mapping[str, str | None] = {}

    @classmethod
    def create(cls, path: Path, default_branch: str) -> BareRepository:
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / folder).mkdir(parents=True)
        (path / "HEAD").write_text(f"ref: refs/heads/{default_branch}\n")
        (path / "config").write_text(_CONFIG)
        hook = path / "hooks" / "update"
        hook.parent.mkdir()
        hook.write_text(_UPDATE_HOOK)
        hook.chmod(0o755)
        return cls(path)

    def run(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Git's standard output. Raises `GitFailed`."""
        process = self._call(args, stdin, env)
        if process.returncode:
            lines = process.stderr.decode(errors="replace").strip().splitlines()
            raise GitFailed(lines[-1] if lines else f"git {args[0]} exited with {process.returncode}")
        return process.stdout

    def text(self, *args: str) -> str:
        return self.run(*args).decode(errors="replace").strip()

    def succeeds(self, *args: str) -> bool:
        return self._call(args, None, None).returncode == 0

    def _call(
        self, args: Sequence[str], stdin: bytes | None, env: Mapping[str, str] | None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", f"--git-dir={self.path}", *args],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            env=environment(env),
            cwd=self.path,
            check=False,
        )

    # -- refs

    def resolve(self, revision: str) -> str | None:
        """The commit that a branch, tag or id names, or None."""
        if not revision or revision.startswith("-"):
            return None
        if f"refs/heads/{revision}" in self.hidden:
            return self.hidden[f"refs/heads/{revision}"]
        if (tip := self._loose(f"refs/heads/{revision}")) is not None:
            return tip
        if ("resolved", revision) in self._cache:
            return revision
        for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            process = self._call(("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"), None, None)
            if process.returncode == 0:
                sha = process.stdout.decode().strip()
                if sha == revision:
                    self.cached(("resolved", sha), lambda: True)
                return sha
        return None

    def branch(self, name: str) -> str | None:
        """The tip of a branch; tags of the same name do not count."""
        if f"refs/heads/{name}" in self.hidden:
            return self.hidden[f"refs/heads/{name}"]
        if (tip := self._loose(f"refs/heads/{name}")) is not None:
            return tip
        ref = self.ref(f"refs/heads/{name}")
        return ref.sha if ref else None

    def _loose(self, name: str) -> str | None:
        """The id in a ref's file, which saves a process; None if only git can tell."""
        if name.endswith(".lock") or any(part.startswith(".") for part in name.split("/")):
            return None
        try:
            text = (self.path / name).read_text()
        except (OSError, ValueError):
            return None
        return text.strip() if _ID_LINE.fullmatch(text) else None

    def branches(self) -> dict[str, str]:
        """The commit at the tip of each branch, by the whole name of its ref."""
        if self.hidden or (self.path / "packed-refs").exists():
            return {ref.name: ref.sha for ref in self.refs("refs/heads")}
        tips = {}
        for folder, _, names in os.walk(self.path / "refs" / "heads"):
            for file in names:
                name = f"{os.path.relpath(folder, self.path)}/{file}"
                if (sha := self._loose(name)) is not None:
                    tips[name] = sha
        return tips

    def ref(self, name: str) -> Ref | None:
        if (
            _PLAIN_REF.fullmatch(name)
            and not self.hidden
            and not (self.path / name).exists()
            and not (self.path / "packed-refs").exists()
        ):
            return None
        return next((ref for ref in self.refs(name) if ref.name == name), None)

    def refs(self, prefix: str) -> list[Ref]:
        """All refs whose name is `prefix` or begins with `prefix` and a slash, sorted by name."""
        if not prefix.startswith("refs/") or set(prefix) & set("*?[\\"):
            return []
        lines = self.run("for-each-ref", "--format=%(refname)%00%(objectname)%00%(objecttype)", prefix)
        matches = [Ref(*line.split("\0")) for line in lines.decode().splitlines()]
        if not self.hidden:
            return matches
        visible = {ref.name: ref for ref in matches if ref.name not in self.hidden}
        for name, sha in self.hidden.items():
            if sha is not None and (name == prefix or name.startswith(f"{prefix.rstrip('/')}/")):
                visible[name] = Ref(name, sha, "commit")
        return [visible[name] for name in sorted(visible)]

    def name_is_valid(self, name: str) -> bool:
        return self.succeeds("check-ref-format", name)

    def exists(self, sha: str) -> bool:
        return self.succeeds("cat-file", "-e", sha)

    def kind(self, sha: str) -> str | None:
        process = self._call(("cat-file", "-t", sha), None, None)
        return process.stdout.decode().strip() if process.returncode == 0 else None

    def set_ref(self, name: str, sha: str) -> None:
        """Raises `GitFailed` for an invalid name or id, or if another ref conflicts."""
        self.run("update-ref", name, sha)

    def move_ref(self, name: str, sha: str) -> None:
        """Like `set_ref`, for a commit that is known to exist."""
        path = self.path / name
        lock = path.with_name(f"{path.name}.lock")
        if not _PLAIN_REF.fullmatch(name) or path.is_dir():
            self.set_ref(name, sha)
            return
        try:
            # The same locking as git's.
            path.parent.mkdir(parents=True, exist_ok=True)
            with lock.open("x") as file:
                file.write(f"{sha}\n")
            lock.replace(path)
        except OSError:
            self.set_ref(name, sha)

    def delete_ref(self, name: str) -> None:
        self.run("update-ref", "-d", name)

    # -- history

    def commit(self, sha: str) -> Commit:
        """The commit of a full id."""
        return self.cached(("commit", sha), lambda: self.commits([sha], limit=1)[0])

    def commits(self, revisions: Sequence[str], limit: int = 250, path: str | None = None) -> list[Commit]:
        """Newest first. `revisions` are what `git log` takes, such as `base..head`; ids or ranges only."""
        # No -z: it would separate the commits with the byte that separates the fields.
        output = self.run(
            "log",
            f"--max-count={limit}",
            f"--format={_COMMIT_FORMAT}%x00%x00",
            *revisions,
            "--",
            *([path] if path else []),
        ).decode(errors="replace")
        return [_commit(record) for record in output.split("\0\0\n") if record]

    def merge_base(self, one: str, other: str) -> str | None:
        """Of two commits given by full ids."""

        def compute() -> str | None:
            process = self._call(("merge-base", one, other), None, None)
            return process.stdout.decode().strip() if process.returncode == 0 else None

        return self.cached(("merge-base", one, other), compute)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Of two commits given by full ids."""
        if ancestor == descendant:
            return True

        def compute() -> bool | None:
            arguments = ("merge-base", "--is-ancestor", ancestor, descendant)
            return {0: True, 1: False}.get(self._call(arguments, None, None).returncode)

        return bool(self.cached(("is-ancestor", ancestor, descendant), compute))

    def ahead_behind(self, base: str, head: str) -> tuple[int, int]:
        """Commits only `head` has, commits only `base` has."""
        behind, ahead = self.text("rev-list", "--left-right", "--count", f"{base}...{head}").split()
        return int(ahead), int(behind)

    def cached(self, key: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Cache a result about commits, which never changes. None is not cached."""
        if key in self._cache:
            return cast(T, self._cache[key])
        result = compute()
        if result is not None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = result
        return result

    def merged_tree(self, base: str, head: str) -> str | None:
        """The tree of a merge, None for a conflict. Raises `GitFailed` if git is older than 2.38."""
        process = self._call(("merge-tree", "--write-tree", base, head), None, None)
        if process.returncode not in (0, 1):
            raise GitFailed(process.stderr.decode(errors="replace").strip())
        return None if process.returncode else process.stdout.decode().splitlines()[0]

    # -- contents

    def tree(self, treeish: str, *, recursive: bool = False) -> list[Entry]:
        flags = ["-r", "-t"] if recursive else []
        output = self.run("ls-tree", "-z", "--long", *flags, treeish).decode(errors="surrogateescape")
        return [_entry(line) for line in output.split("\0") if line]

    def entry(self, commit: str, path: str) -> Entry | None:
        """What is at `path` (no leading slash; empty for the root) at a commit."""
        if not path:
            return Entry("", "040000", "tree", self.text("rev-parse", f"{commit}^{{tree}}"), 0)
        command = ("--literal-pathspecs", "ls-tree", "-z", "--long", "--full-tree", commit, "--", path)
        output = self.cached(("entry", commit, path), lambda: self.run(*command))
        lines = [line for line in output.decode(errors="surrogateescape").split("\0") if line]
        return _entry(lines[0]) if len(lines) == 1 else None

    def blob(self, sha: str) -> bytes:
        return self.run("cat-file", "blob", sha)

    # -- writing

    def commit_folder(self, folder: Path, message: str, author: Signature, branch: str) -> str:
        """Commit the files of `folder`, ignore rules applied, as the next commit of `branch`."""
        tree, pack = _packed(folder, _state_of(folder))
        for suffix, content in pack.items():
            (self.path / "objects" / "pack" / f"pack-{tree}{suffix}").write_bytes(content)
        return self.commit_tree(tree, message, author, branch)

    def commit_tree(self, tree: str, message: str, author: Signature, branch: str) -> str:
        """Put a commit of `tree` on top of `branch`, which may not exist yet."""
        parent = self.branch(branch)
        sha = self.write_commit(tree, [parent] if parent else [], message, author)
        self.move_ref(f"refs/heads/{branch}", sha)
        return sha

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Signature,
        committer: Signature | None = None,
    ) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {_ident(author)}", f"committer {_ident(committer or author)}", "", message]
        sha = write_object(self.path, "commit", "\n".join(lines).encode())
        for parent in parents:
            self.cached(("is-ancestor", parent, sha), lambda: True)
        return sha

    def write_files(
        self, parent: str | None, files: Mapping[str, bytes | None], message: str, author: Signature
    ) -> str:
        """A commit on top of `parent` in which these files have these contents; None removes one."""
        entries = {
            entry.path: (entry.mode, entry.sha)
            for entry in (self.tree(parent, recursive=True) if parent else [])
            if entry.kind != "tree"
        }
        for path, content in files.items():
            entries.pop(path, None)
            if content is not None:
                entries[path] = ("100644", self.write_blob(content))
        tree = write_tree(self.path, nested(entries))
        return self.write_commit(tree, [parent] if parent else [], message, author)

    def write_tree(self, base: str | None, entries: Sequence[tuple[str, str, str | None]]) -> str:
        """A tree like `base` in which these paths have these modes and objects; an object None removes one."""
        scratch = {"GIT_INDEX_FILE": str(self.path / "tree.index")}
        self.run("read-tree", *([base] if base else ["--empty"]), env=scratch)
        for path, mode, sha in entries:
            if mode == "040000" and sha is not None:
                there = (
                    self.run("ls-tree", "-r", "-z", "--name-only", base, "--", f"{path}/") if base else b""
                )
                lines = [f"0 {NULL_SHA}\t{name}" for name in there.decode().split("\0") if name]
                lines += [
                    f"{one.mode} {one.sha}\t{path}/{one.path}"
                    for one in self.tree(sha, recursive=True)
                    if one.kind != "tree"
                ]
                everything = "".join(f"{line}\0" for line in lines)
                self.run("update-index", "-z", "--index-info", stdin=everything.encode(), env=scratch)
                continue
            line = f"{'0' if sha is None else mode} {sha or NULL_SHA}\t{path}\0"
            self.run("update-index", "-z", "--index-info", stdin=line.encode(), env=scratch)
        tree = self.run("write-tree", env=scratch).decode().strip()
        (self.path / "tree.index").unlink()
        return tree

    def write_blob(self, content: bytes) -> str:
        return write_object(self.path, "blob", content)

    def fetch(self, source: Path, refspec: str) -> None:
        """Fetch from another repository on this disk."""
        self.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source), refspec)


def _ident(signature: Signature) -> str:
    """The line of a commit; git strips characters that would end a name."""
    name, email = (re.sub(r"[\n<>\0]", "", text).strip(_CRUD) for text in (signature.name, signature.email))
    return f"{name} <{email}> {signature.at} +0000"


def _commit(record: str) -> Commit:
    fields = record.split("\0", _COMMIT_FIELDS - 1)
    sha, tree, parents, an, ae, at, cn, ce, ct, message = fields
    return Commit(
        sha=sha.strip(),
        tree=tree,
        parents=tuple(parents.split()),
        author=Signature(an, ae, int(at)),
        committer=Signature(cn, ce, int(ct)),
        message=message.rstrip("\n"),
    )


def _entry(line: str) -> Entry:
    meta, path = line.split("\t", 1)
    mode, kind, sha, size = meta.split()
    return Entry(path, mode, kind, sha, int(size) if size.isdigit() else 0)
