"""Real git repositories for tests, made with an environment in which nothing of this machine's git applies, and a way
to write objects that git itself would refuse to make."""

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

from tests.support.files import write_file, write_files
from tests.support.warm_server import LEFT_OUT

SAMPLE = Path(__file__).parents[2] / "slash_forge" / "sample"

POLICY = ".github/agent.yml"
_OWN_POLICY = (SAMPLE / POLICY).read_text()
UNCHECKED = f"""version: 1
checks: [{LEFT_OUT!r}]
diagnostics: {{checkers: none}}
{_OWN_POLICY[_OWN_POLICY.index("rules:") :]}"""
"""The sample's policy without its tests and without checkers."""

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Mira",
    "GIT_AUTHOR_EMAIL": "mira@example.invalid",
    "GIT_COMMITTER_NAME": "Mira",
    "GIT_COMMITTER_EMAIL": "mira@example.invalid",
    "GIT_AUTHOR_DATE": "2026-11-02T09:30:00Z",
    "GIT_COMMITTER_DATE": "2026-11-02T09:30:00Z",
    # Else each commit starts another process.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.fsync",
    "GIT_CONFIG_VALUE_1": "none",
}


def git(repo: Path, *args: str, input: bytes | None = None, **environment: str) -> str:
    """What `git <args>` prints in `repo`."""
    ran = subprocess.run(
        ["git", *args], cwd=repo, env=ENVIRONMENT | environment, input=input, capture_output=True
    )
    assert ran.returncode == 0, f"git {args}: {ran.stderr.decode()}"
    return ran.stdout.decode("utf-8", "surrogateescape").strip()


def commit_all(repo: Path, message: str = "Change") -> str:
    """Commit everything in `repo`; the commit's id."""
    git(repo, "add", "-A", "--force")
    git(repo, "commit", "-q", "--allow-empty", "-m", message)
    return git(repo, "rev-parse", "HEAD")


def make_repository(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository at `path` with one commit of `files` on the branch `main`."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", "--template=")
    write_files(path, files)
    git(path, "add", "-A", "--force")
    git(path, "commit", "-q", "--allow-empty", "-m", "First")
    return path


def sample_repository(path: Path, *, checks: bool = True) -> Path:
    """The demo's sample project as a repository: a real bug, a failing test, one check in its policy file."""
    shutil.copytree(SAMPLE, path, ignore=shutil.ignore_patterns("__pycache__"))
    if not checks:
        (path / POLICY).write_text(UNCHECKED)
    git(path, "init", "-q", "-b", "main", "--template=")
    commit_all(path, "First")
    return path


class Repository:
    """A repository with a work tree."""

    def __init__(self, path: Path, *, object_format: str = "sha1") -> None:
        self.path = path
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main", f"--object-format={object_format}")

    def git(self, *args: str, input: bytes | None = None, **environment: str) -> str:
        return git(self.path, *args, input=input, **environment)

    def write(self, name: str, content: str | bytes = "", *, mode: int | None = None) -> Path:
        return write_file(self.path / name, content, mode)

    def commit(self, message: str = "Change", **files: str | bytes) -> str:
        """Commit everything that is in the work tree; the commit's id."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "--all", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def store(self, kind: str, data: bytes) -> str:
        """Write an object as it is, unchecked; its id."""
        raw = f"{kind} {len(data)}".encode() + b"\0" + data
        sha = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        path = self.path / ".git" / "objects" / sha[:2] / sha[2:]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_bytes(zlib.compress(raw))
        return sha

    def store_tree(self, *entries: tuple[str, str, str]) -> str:
        """A tree of (mode, name, id) entries in the order given, whatever the names."""
        data = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(sha) for mode, name, sha in entries)
        return self.store("tree", data)

    def commit_of(self, tree: str) -> str:
        """Make a commit of a stored tree the tip of main; its id."""
        who = "Mira <mira@example.invalid> 1700000000 +0000"
        sha = self.store("commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nHostile\n".encode())
        self.git("update-ref", "refs/heads/main", sha)
        return sha
