"""The repository on the server, over git: which branches it has, one commit from it, and the one push.

Two methods write a ref. `push` takes names under `agent/` and no other; `push_onto` puts one commit on top of what
a branch holds. Both say what the ref must hold at that moment, so that nothing anybody pushed is ever overwritten.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.checkout import remote as transport
from bot.checkout.git import Git, last_line
from bot.checkout.pull import branch_ref
from bot.contracts.errors import AgentError, PublishError
from bot.github.errors import RepositoryMovedError

if TYPE_CHECKING:
    from bot.github.retry import Pace

PREFIX = "agent/"

_OURS = re.compile(r"agent/[a-z0-9]+(?:-[a-z0-9]+)*")
_HEADS = "refs/heads/"


# Ours was overtaken; the last two when both pushes reach the server in the same moment.
_OVERTAKEN = (
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
    """What the server has: `default` is the default branch's name, `heads` maps branch names to commits."""

    default: str
    heads: dict[str, str]


@dataclass(frozen=True, slots=True)
class Remote:
    """One repository at `url`, spoken to from the bare `git_dir`. git reads the token from a descriptor. `pace` waits
    between two tries."""

    git_dir: Path
    url: str
    token: str = field(repr=False)
    pace: Pace | None = None

    def refs(self, *patterns: str) -> Refs:
        """The default branch and the branches that match one of git's glob `patterns`."""
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
        """Bring the commit `sha` here, with no more history than `depth` commits."""
        transport.fetch(self.git_dir, self.url, [sha], self.token, [f"--depth={depth}"], pace=self.pace)

    def push(self, sha: str, branch: str, *, expected: str, never: frozenset[str]) -> None:
        """Set `branch` to `sha` if it is still at `expected` (empty: if it does not exist).

        `never` are branches that people work on. Raises `BranchMovedError`, or `PublishError` with the reason
        that the server gave.
        """
        if not _OURS.fullmatch(branch) or branch in never:
            raise PublishError(f"{branch!r} is not a branch of the bot's own, so nothing was pushed to it.")
        self._set(sha, branch, expected)

    def push_onto(self, sha: str, branch: str, *, expected: str, never: frozenset[str]) -> None:
        """Put the one commit `sha` on a pull request's head, whose tip is `expected` and its parent: fast-forward.

        Raises as `push` does.
        """
        parents = Git(self.git_dir).run("rev-parse", f"{sha}^@").decode().split()
        if parents != [expected] or branch in never or branch_ref(branch) != f"{_HEADS}{branch}":
            raise PublishError(f"{branch!r} is no head that may be pushed to, so nothing was pushed to it.")
        self._set(sha, branch, expected)

    def of(self, repository: str, other: str) -> Remote:
        """`other` on the same server, where this is `repository`."""
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
            # The push may have arrived and its answer been lost, or another job may have pushed the same commit.
            if not self._holds(branch, sha):
                raise

    def _holds(self, branch: str, sha: str) -> bool:
        """Whether `branch` is at `sha`; false if the server does not say."""
        try:
            return self.refs(branch).heads.get(branch) == sha
        except PublishError:
            return False

    def _drive(self, branch: str, doing: str, arguments: list[str]) -> str:
        from git.exc import GitCommandError

        transport.check_url(self.url, self.token)
        try:
            return transport.run_remote_command(self.git_dir, self.url, self.token, arguments, self.pace)
        except GitCommandError as error:
            # `from None`: the vendor's exception carries the whole command line.
            raise _push_error(branch, doing, f"{error.stdout}\n{error.stderr}", self._hidden()) from None

    def _hidden(self) -> list[str]:
        if not self.token:
            return []
        return [self.token, base64.b64encode(f"x-access-token:{self.token}".encode()).decode()]


def _push_error(branch: str, doing: str, output: str, hidden: list[str]) -> AgentError:
    """GitHub's words are those of its pages "Troubleshooting rules", "About protected branches" and "Rate limits for
    the REST API"; an archived repository says "This repository was archived so it is read-only"."""
    if any(words in output for words in _OVERTAKEN):
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
    """The server's own words where it gave some, else git's last ones."""
    for line in output.splitlines():
        rejected = re.search(r"\[(?:remote )?rejected\] \((.+?)\)\s*$", line)
        if rejected:
            return rejected.group(1)
    cleaned = output.replace("stderr: '", "").replace("stdout: '", "").rstrip("'\n ")
    return last_line(cleaned, hidden).rstrip(".")
