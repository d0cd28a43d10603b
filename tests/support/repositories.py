"""Real git repositories for tests, made with an environment in which nothing of this machine's git applies."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.warm_server import LEFT_OUT

SAMPLE = Path(__file__).parents[2] / "slash_forge" / "sample"

POLICY = ".github/agent.yml"
_OWN_POLICY = (SAMPLE / POLICY).read_text()
UNCHECKED = f"""version: 1
checks: [{LEFT_OUT!r}]
diagnostics: {{checkers: none}}
{_OWN_POLICY[_OWN_POLICY.index("rules:") :]}"""
"""The sample's policy without its tests and without checkers."""

_ENVIRONMENT = {
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
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
}


def git(repo: Path, *args: str) -> str:
    """What `git <args>` prints in `repo`."""
    return subprocess.run(
        ["git", *args], cwd=repo, env=_ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit_all(repo: Path, message: str = "Change") -> str:
    """Commit everything in `repo`; the commit's id."""
    git(repo, "add", "-A", "--force")
    git(repo, "commit", "-q", "--allow-empty", "-m", message)
    return git(repo, "rev-parse", "HEAD")


def make_repository(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository at `path` with one commit of `files` on the branch `main`."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", "--template=")
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
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
