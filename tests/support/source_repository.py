"""Real git repositories for tests, and a way to write objects that git itself would refuse to make."""

import hashlib
import os
import subprocess
import zlib
from pathlib import Path

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "HOME": "/nonexistent",
    # Else each commit starts another process.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.fsync",
    "GIT_CONFIG_VALUE_1": "none",
}


def git(folder: Path, *args: str, input: bytes | None = None, **environment: str) -> str:
    """Standard output of git in `folder`, as a person would run it there."""
    env = {"PATH": os.environ["PATH"], **_ENVIRONMENT, **environment}
    completed = subprocess.run(
        ["git", *args], cwd=folder, env=env, input=input, capture_output=True, check=False
    )
    assert completed.returncode == 0, f"git {args}: {completed.stderr.decode()}"
    return completed.stdout.decode("utf-8", "surrogateescape").strip()


class Repository:
    """A repository with a work tree."""

    def __init__(self, path: Path, *, object_format: str = "sha1") -> None:
        self.path = path
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main", f"--object-format={object_format}")

    def git(self, *args: str, input: bytes | None = None, **environment: str) -> str:
        return git(self.path, *args, input=input, **environment)

    def write(self, name: str, content: str | bytes = "", *, mode: int | None = None) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

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
        who = "Ada <ada@example.org> 1700000000 +0000"
        sha = self.store("commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nHostile\n".encode())
        self.git("update-ref", "refs/heads/main", sha)
        return sha
