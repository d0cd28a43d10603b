"""Checks before the model is paid: paths that cannot be written, a branch in the way, limits of the machine, an
uncommitted policy."""

import os
import resource
import tempfile
from pathlib import Path

from bot.checkout.branches import check_branch_prefix, uncommitted_state
from bot.checkout.local import resolve
from bot.contracts.errors import AgentError, UsageError
from bot.policy.load import POLICY_FILE

_MOST_BYTES = 1 << 17
"""More than a policy may have, so that a longer one is refused."""

_OPEN_FILES = 128
"""A run of the sample needs 40; language servers and the proxy need more."""


def check_machine() -> None:
    """Raises `AgentError` if this process may not open as many files as a run needs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
        raise AgentError(
            f"Only {soft} files may be open at once here, and a run needs {_OPEN_FILES}: raise the limit (ulimit -n)."
        )


def check_folder(out: Path | None) -> None:
    """Raises `UsageError` if no bundle can be written to `out`."""
    if out is None:
        return
    path = out.absolute()
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out takes a folder, and {out} is a file: name another folder.")
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if why := _unwritable(nearest):
        raise UsageError(f"--out {out} cannot be written: {nearest}: {why}. Name another folder.")


def check_file(file: Path | None, option: str) -> None:
    """Raises `UsageError` if `file`, which `option` names, cannot be written."""
    if file is None:
        return
    path = file.absolute()
    if path.is_dir():
        raise UsageError(f"{option} takes a file, and {file} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {file} cannot be written: there is no folder {path.parent}.")
    why = _unwritable(path.parent)
    if why or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{option} {file} cannot be written: {why or 'it is read-only'}. Name another file.")


def check_new_branch(repo: Path) -> None:
    """Raises an `AgentError` if no branch `agent/...` can be made in `repo`."""
    if why := _unwritable(resolve(repo, "HEAD").objects):
        raise UsageError(
            f"No branch can be made in {repo}: its git folder cannot be written ({why}). "
            "Use --patch FILE to get a patch instead."
        )
    check_branch_prefix(repo)


def _unwritable(folder: Path) -> str:
    """Why no file can be made in `folder`; empty if one can."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or type(error).__name__


def uncommitted_policy(repo: Path) -> tuple[str | None, str]:
    """Return the text of the checkout's policy if it is not committed, and a note that it was used."""
    state = uncommitted_state(repo, POLICY_FILE)
    if not state:
        return None, ""
    with (repo / POLICY_FILE).open("rb") as file:
        text = file.read(_MOST_BYTES).decode(errors="replace")
    whose = f"Your policy {POLICY_FILE} is" if state == "new" else f"Your changes to {POLICY_FILE} are"
    return (
        text,
        f"{whose} not committed and held for this run all the same. Runs in Actions use what is committed.",
    )
