"""What CI's set-up steps left, as one tar file: where it lies, and whether it fits the job that gets it.

The job that makes the file has no secret and runs code of the repository, so it is a stranger's: it is unpacked inside
the sandbox alone. What it says of itself decides whether it is of use, never what it may do. Standard library only.
"""

import fnmatch
import glob
import hashlib
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import basename

from bot.ecosystems.registry import ecosystems
from bot.events.event_request import EventRequest
from bot.github.stdlib_api import Api, ApiError

_PAGE, _MOST_PAGES = 100, 30
"""GitHub lists 3,000 changed files of a pull request."""

MOST_BYTES, MOST_CACHED = 2 << 30, 1 << 30
"""Of an artifact, and of an entry in the repository's cache, which holds 10 GiB in all."""
FACTS, WORKSPACE, HOME, OUTSIDE = "facts", "workspace", "home", "outside"
"""The members of the file: a text, and the folders that were in the workspace, in the home, and at their own path."""


def facts(workspace: str, variables: Mapping[str, str], listing: bytes) -> str:
    """Return what must be the same in both jobs, one line each: places, image, interpreters, and the lock files of a
    commit. `listing` is git's `ls-tree -r -z` of it."""
    path = variables.get("PATH", "")
    programs = ((name, shutil.which(name, path=path)) for one in ecosystems() for name in one.interpreters)
    lines = {
        "workspace": workspace,
        "home": os.path.expanduser("~"),
        "image": f"{variables.get('ImageOS', '')} {variables.get('ImageVersion', '')}",
        "machine": " ".join((platform.machine(), *platform.libc_ver())),
        **{name: os.path.realpath(program) for name, program in programs if program},
        "locks": lock_files_digest(listing),
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def lock_files_digest(listing: bytes) -> str:
    """Return one digest of the lock files of a commit; `listing` is that of `facts`."""
    entries = (entry.partition(b"\t") for entry in listing.split(b"\0"))
    own = [head + b" " + path for head, _, path in entries if is_lock_file(os.fsdecode(path))]
    return hashlib.sha256(b"\0".join(sorted(own))).hexdigest()


def is_lock_file(path: str) -> bool:
    name = basename(path)
    return any(fnmatch.fnmatch(name, pattern) for one in ecosystems() for pattern in one.locks)


def commit_to_prepare(event_request: EventRequest, api: Api, environment: Mapping[str, str]) -> str:
    """The commit or branch whose code may run in a job without secrets. Empty where that would be a fork's, or where
    GitHub does not say. On servers that may not know `cache-mode` a head could write the cache, so it is the base."""
    if not (event_request.on_pull or event_request.head_sha):
        return event_request.repository.default_branch
    pull_path = f"/repos/{event_request.repository.name}/pulls/{event_request.number}"
    try:
        _, pull = api.get(pull_path)
        base, head = pull["base"], pull["head"]
        if not _changes_lock_files(api, pull_path):
            return str(base["sha"])
        own = (head["repo"] or {}).get("id") == base["repo"]["id"]
        hosted = environment.get("GITHUB_SERVER_URL", "").endswith((".ghe.com", "https://github.com"))
        return str(head["sha"]) if own and hosted else ""
    except (ApiError, KeyError, TypeError):
        return ""


def _changes_lock_files(api: Api, pull_path: str) -> bool:
    """Whether a pull request changes a lock file. With more files than GitHub lists it counts as one that does."""
    for page in range(1, _MOST_PAGES + 1):
        _, files = api.get(f"{pull_path}/files?per_page={_PAGE}&page={page}")
        paths = (path for file in files for path in (file["filename"], file.get("previous_filename", "")))
        if any(map(is_lock_file, paths)):
            return True
        if len(files) < _PAGE:
            return False
    return True


def kept_in_home() -> Iterator[str]:
    """Yield the folders of a home whose new files belong to an environment."""
    names = (name for one in ecosystems() for name in (*one.home_packages, *one.home_environments))
    return (name for name in names if not name.startswith("/"))


def kept_at_their_path(variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of this machine that programs of an environment name by their path: those of packages in the
    tool cache, and environments in the home or at a path of the image."""
    cache = variables.get("RUNNER_TOOL_CACHE") or "/nonexistent"
    for name in (name for one in ecosystems() for name in one.packages):
        # A tool, its version, its architecture.
        yield from map(Path, sorted(glob.glob(os.path.join(glob.escape(cache), "*/*/*", name))))
    yield from (Path(os.path.expanduser("~"), name) for one in ecosystems() for name in one.home_environments)
