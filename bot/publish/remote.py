"""The repository on the server, over git: list branches, fetch a commit, read its files, push.

Two methods write a ref. `push` accepts only names under `agent/`; `push_onto` adds one commit on top of a branch. Both
state the expected value of the ref, so that no push of somebody else is overwritten.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.checkout import remote as transport
from bot.checkout.errors import RemoteGitError
from bot.checkout.git import Git, last_line
from bot.checkout.pull import branch_ref
from bot.contracts.errors import AgentError, PublishError
from bot.github.errors import RepositoryMovedError

if TYPE_CHECKING:
    from bot.github.retry import Pace


PREFIX = "agent/"

_OURS = re.compile(r"agent/[a-z0-9]+(?:-[a-z0-9]+)*")
_HEADS = "refs/heads/"


# Another push was first; the last two if both pushes reach the server at the same moment.
_BRANCH_MOVED = (
    "stale info",
    "fetch first",
    "reference already exists",
    "cannot lock ref",
    "failed to update ref",
)


class BranchMovedError(PublishError):
    """The branch was changed or created between our check and our push."""


class ProtectedBranchError(PublishError):
    """A rule of the repository forbids the push."""


@dataclass(frozen=True, slots=True)
class Refs:
    """`default` is the default branch's name; `heads` maps branch names to commits."""

    default: str
    heads: dict[str, str]


@dataclass(frozen=True, slots=True)
class Remote:
    """The repository at `url` and the bare `git_dir` for its objects. git reads the token from a descriptor. `pace`
    waits between two tries."""

    git_dir: Path
    url: str
    token: str = field(repr=False)
    pace: Pace | None = None

    def refs(self, *patterns: str) -> Refs:
        """Return the default branch and the branches that match one of git's glob `patterns`."""
        wanted = [f"{_HEADS}{pattern}" for pattern in patterns]
        listing = self._drive("", "reading branches", ["ls-remote", "--symref", self.url, "HEAD", *wanted])
        default, heads = "", dict[str, str]()
        for line in listing.split("\n"):
            value, _, name = line.partition("\t")
            if value.startswith(f"ref: {_HEADS}") and name == "HEAD":
                default = value.removeprefix(f"ref: {_HEADS}")
            elif name.startswith(_HEADS):
                heads[name.removeprefix(_HEADS)] = value
        return Refs(default, heads)

    def fetch(self, sha: str, depth: int = 1) -> None:
        """Fetch the commit `sha` with a history of `depth` commits."""
        transport.fetch(self.git_dir, self.url, [sha], self.token, [f"--depth={depth}"], pace=self.pace)

    def push(self, sha: str, branch: str, *, expected: str, never: frozenset[str]) -> None:
        """Set `branch` to `sha` if it is still at `expected` (empty: if it does not exist).

        `never` are branches that people work on. Raises `BranchMovedError`, or `PublishError` with the server's reason.
        """
        if not _OURS.fullmatch(branch) or branch in never:
            raise PublishError(f"{branch!r} is not a branch of the bot's own, so nothing was pushed to it.")
        self._set(sha, branch, expected)

    def push_onto(self, sha: str, branch: str, *, expected: str, never: frozenset[str]) -> None:
        """Fast-forward a pull request's head from `expected` to its child `sha`. Raises as `push` does."""
        parents = Git(self.git_dir).run("rev-parse", f"{sha}^@").decode().split()
        if parents != [expected] or branch in never or branch_ref(branch) != f"{_HEADS}{branch}":
            raise PublishError(f"{branch!r} is no head that may be pushed to, so nothing was pushed to it.")
        self._set(sha, branch, expected)

    def of(self, repository: str, other: str) -> Remote:
        """Return the remote of `other` on the same server. `repository` is the name of this one."""
        server = self.url.removesuffix("/").removesuffix(".git").removesuffix(f"/{repository}")
        return replace(self, url=f"{server}/{other}.git")

    def _set(self, sha: str, branch: str, expected: str) -> None:
        ref = f"{_HEADS}{branch}"
        arguments = ["push", "--porcelain", "--no-verify", f"--force-with-lease={ref}:{expected}"]
        try:
            self._drive(
                branch, f"pushing {branch}", [*arguments, "--end-of-options", self.url, f"{sha}:{ref}"]
            )
        except PublishError:
            # The push may have succeeded without an answer, or another job may have pushed the same commit.
            if not self._holds(branch, sha):
                raise

    def _holds(self, branch: str, sha: str) -> bool:
        """Whether `branch` is at `sha`; false if that is unknown."""
        try:
            return self.refs(branch).heads.get(branch) == sha
        except PublishError:
            return False

    def _drive(self, branch: str, doing: str, arguments: list[str]) -> str:
        transport.check_url(self.url, self.token)
        try:
            return transport.run_remote_command(self.git_dir, self.url, self.token, arguments, self.pace)
        except RemoteGitError as error:
            raise _push_error(branch, doing, f"{error.stdout}\n{error.stderr}", self._hidden()) from None

    def _hidden(self) -> list[str]:
        if not self.token:
            return []
        return [self.token, base64.b64encode(f"x-access-token:{self.token}".encode()).decode()]


def _push_error(branch: str, doing: str, output: str, hidden: list[str]) -> AgentError:
    """Convert git's output to an error. GitHub documents its messages in "Troubleshooting rules", "About protected
    branches" and "Rate limits for the REST API"; an archived repository's is "This repository was archived so it is
    read-only"."""
    if any(words in output for words in _BRANCH_MOVED):
        return BranchMovedError(f"Somebody changed the branch while {doing}; run publish again.")
    if "without `workflow" in output or "without workflow" in output or "workflows` permission" in output:
        return PublishError(
            "The push was refused: it changes a workflow file and the token lacks the `workflows` permission."
        )
    if any(words in output for words in ("GH006", "GH013", "push declined due to", "protected branch")):
        advice = f"let the bot write branches under {PREFIX}"
        if not branch.startswith(PREFIX):
            advice = f"let the bot push to {branch}, or set `push_to_head: false` in its policy"
        return ProtectedBranchError(
            f"The push was refused by a rule of the repository while {doing}: {_reason(output, hidden)}; {advice}."
        )
    if "archived" in output and "read-only" in output:
        return PublishError(
            f"The repository is archived, which stops {doing}: unarchive it, then publish again."
        )
    failure = transport.http_failure(output)
    if failure is not None and failure.rate_limited:
        return PublishError(f"A rate limit of GitHub stopped {doing}; publish again in some minutes.")
    if failure is not None and failure.transient:
        return PublishError(
            f"The server did not answer while {doing}, after several tries: {_reason(output, hidden)}. "
            "Publish again later."
        )
    if failure is not None and failure.moved:
        return RepositoryMovedError(doing)
    if (
        "error: 403" in output
        or "Permission to" in output
        or "Write access to repository not granted" in output
    ):
        return PublishError(
            f"The token may not push (403) while {doing}: give the job `permissions: contents: write`."
        )
    if "Authentication failed" in output or "error: 401" in output or "could not read Username" in output:
        return PublishError(f"The server did not accept the token while {doing}: it is wrong or has expired.")
    if "not found" in output or "error: 404" in output:
        return PublishError(f"There is no such repository while {doing}, or the token may not see it.")
    return PublishError(f"git failed while {doing}: {_reason(output, hidden)}.")


def _reason(output: str, hidden: list[str]) -> str:
    """Return the server's reason, or else git's last line."""
    for line in output.splitlines():
        rejected = re.search(r"\[(?:remote )?rejected\] \((.+?)\)\s*$", line)
        if rejected:
            return rejected.group(1)
    cleaned = output.replace("stderr: '", "").replace("stdout: '", "").rstrip("'\n ")
    return last_line(cleaned, hidden).rstrip(".")


_FILE_LIMIT = 256 << 10
# The folders in which GitHub looks for a template, in its order.
_TEMPLATE_FOLDERS = (".github", "", "docs")
TEMPLATE_NAME = re.compile(r"pull_request_template(\.md|\.txt)?", re.IGNORECASE)


def read_base_file(git: Git, sha: str, path: str) -> str | None:
    """Return a text file of the commit, or `None` if it has no regular file there."""
    listing = git.run("ls-tree", "-z", "--full-tree", "-l", sha, "--", path)
    mode, _, entry = listing.partition(b" ")
    if mode not in (b"100644", b"100755"):
        return None
    _, blob, size = entry.partition(b"\t")[0].split()
    if int(size) > _FILE_LIMIT:
        raise PublishError(
            f"{path} of the base commit has {int(size):,} bytes; {_FILE_LIMIT:,} is the limit."
        )
    return git.run("cat-file", "blob", blob.decode()).decode(errors="replace")


def read_template(git: Git, sha: str) -> str:
    """Return the repository's pull-request template at the base commit, or an empty string."""
    for folder in _TEMPLATE_FOLDERS:
        treeish = f"{sha}:{folder}"
        names = _names(git, treeish) if not folder or _is_folder(git, sha, folder) else []
        for name in sorted(names):
            if TEMPLATE_NAME.fullmatch(name):
                return read_base_file(git, sha, f"{folder}/{name}".lstrip("/")) or ""
    return ""


def _is_folder(git: Git, sha: str, folder: str) -> bool:
    return git.run("ls-tree", "-z", "--full-tree", sha, "--", folder).startswith(b"040000 tree")


def _names(git: Git, tree: str) -> list[str]:
    return git.run("ls-tree", "-z", "--name-only", tree).decode(errors="replace").split("\0")
