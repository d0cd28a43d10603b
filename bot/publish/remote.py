"""The repository on the server, over git: list branches, fetch a commit, read its files, push.

Two methods write a ref. `push` accepts only names under `agent/`; `push_onto` adds one commit on top of a branch. Both
state the expected value of the ref, so that no push of somebody else is overwritten.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bot.checkout import remote as transport
from bot.checkout.branches import OWN_BRANCH
from bot.checkout.git import Git, RemoteGitError, last_line
from bot.checkout.pull import branch_ref
from bot.contracts.errors import AgentError, PublishError
from bot.contracts.pulls import BRANCH_PREFIX
from bot.github.errors import RepositoryMovedError

_HEADS = "refs/heads/"


class BranchMovedError(PublishError):
    """The branch was changed or created between our check and our push."""


class ProtectedBranchError(PublishError):
    """A rule of the repository forbids pushes to this branch."""


class Refs(NamedTuple):
    """`default` is the default branch's name and `head` its commit; `heads` maps branch names to commits."""

    default: str
    head: str
    heads: dict[str, str]


@dataclass(frozen=True)
class Remote:
    """The repository at `url` and the bare `git_dir` for its objects. git reads the token from a descriptor."""

    git_dir: Path
    url: str
    token: str = field(repr=False)

    def refs(self, *patterns: str) -> Refs:
        """Return the default branch and the branches that match one of git's glob `patterns`."""
        wanted = ["HEAD", *(f"{_HEADS}{pattern}" for pattern in patterns)]
        listing = self._drive("", "reading branches", ["ls-remote", "--symref", self.url, *wanted])
        default, head, heads = "", "", dict[str, str]()
        for line in listing.split("\n"):
            value, _, name = line.partition("\t")
            if value.startswith(f"ref: {_HEADS}") and name == "HEAD":
                default = value.removeprefix(f"ref: {_HEADS}")
            elif name == "HEAD":
                head = value
            elif name.startswith(_HEADS):
                heads[name.removeprefix(_HEADS)] = value
        return Refs(default, head, heads)

    def fetch(self, sha: str, depth: int = 1) -> None:
        """Fetch the commit `sha` with a history of `depth` commits."""
        transport.fetch(self.git_dir, self.url, [sha], self.token, [f"--depth={depth}"])

    def push(self, sha: str, branch: str, *, expected: str, never: frozenset[str]) -> None:
        """Set `branch` to `sha` if it is at `expected`, empty for new, and not in `never`. Raises `PublishError`."""
        if not OWN_BRANCH.fullmatch(branch) or branch in never:
            raise PublishError(f"{branch!r} is not one of the bot's branches. Nothing was pushed.")
        self._set(sha, branch, expected)

    def push_onto(self, sha: str, branch: str, *, parents: Sequence[str], never: frozenset[str]) -> None:
        """Fast-forward a pull request's head from the first of `parents` to `sha`, which has these parents alone.
        Raises as `push` does."""
        found = Git(self.git_dir).run("rev-parse", f"{sha}^@").decode().split()
        if found != list(parents) or branch in never or branch_ref(branch) != f"{_HEADS}{branch}":
            raise PublishError(f"The bot must not push to {branch!r}. Nothing was pushed.")
        self._set(sha, branch, parents[0])

    def _set(self, sha: str, branch: str, expected: str) -> None:
        ref = f"{_HEADS}{branch}"
        arguments = ["push", "--porcelain", "--no-verify", f"--force-with-lease={ref}:{expected}"]
        try:
            arguments += ["--end-of-options", self.url, f"{sha}:{ref}"]
            self._drive(branch, f"pushing {branch}", arguments)
        except PublishError:
            # The push may have succeeded without an answer, or another job may have pushed the same commit.
            try:
                now = self.refs(branch).heads.get(branch, "")
            except PublishError:
                now = expected
            if now == sha:
                return
            if now != expected:
                raise BranchMovedError(
                    f"Somebody changed the branch {branch} while it was pushed; run publish again."
                ) from None
            raise

    def _drive(self, branch: str, doing: str, arguments: list[str]) -> str:
        transport.check_url(self.url, self.token)
        try:
            return transport.run_remote_command(self.git_dir, self.url, self.token, arguments)
        except RemoteGitError as error:
            hidden = transport.hidden_forms(self.token)
            raise _push_error(branch, doing, f"{error.stdout}\n{error.stderr}", hidden) from None


# What to do about a refusal, by the server's words. GitHub documents these in "Troubleshooting rules", "About protected
# branches", "About large files on GitHub" and "Working with push protection from the command line".
_ADVICE = {
    r"suspended": "publish with the token of another account, or have the suspension lifted",
    r"archived": "unarchive it, then publish again",
    r"repository.*disabled": "have it enabled, then publish again",
    r"workflows?\W* (?:permission|scope)": (
        "a token with the `workflows` permission may push this, which the workflow's own token never has"
    ),
    r"secret": "remove the secret, or allow it where the server says, then publish again",
    r"GH001|large file|file size|exceed|too large|quota|no space": (
        "ask for a change with less data, or make room on the server, then publish again"
    ),
    r"GH007|email privacy": "set `identity.email` in the policy to a no-reply address",
    r"signature|signed": "set `pull_request.signed: true` in the policy",
    r"exists; cannot create": "rename or delete that branch, then publish again",
    r"cannot lock|\.lock\b": "another push may have held the branch: publish again",
}
_RULE = r"GH00[26]|GH013|protected branch|rule violation|push declined|restricted|force.push|non-fast-forward"


def _push_error(branch: str, doing: str, output: str, hidden: list[str]) -> AgentError:
    """Convert git's output to an error with the server's own words and what to do."""
    # What the server wrote and its reason for a rejection, or else git's last line, without secrets.
    messages = [line.strip(" -*") for line in _REMOTE.findall(output)] + _REJECTED.findall(output)
    messages = list(dict.fromkeys(filter(None, messages)))
    messages = messages or [output.replace("stderr: '", "").replace("stdout: '", "").rstrip("'\n ")]
    words = "; ".join(last_line(text, hidden).rstrip(".") for text in messages)[:_WORDS_LIMIT]
    failure = transport.http_failure(output)
    if failure is not None and failure.rate_limited:
        return PublishError(f"A rate limit of GitHub stopped {doing}; publish again in some minutes.")
    if failure is not None and failure.transient:
        return PublishError(
            f"The server did not answer while {doing}, after several tries: {words}. Publish again later."
        )
    if failure is not None and failure.moved:
        return RepositoryMovedError(doing)
    advice = next((text for sign, text in _ADVICE.items() if re.search(sign, words, re.IGNORECASE)), "")
    if re.search(_RULE, words, re.IGNORECASE):
        allow = f"let the bot write branches under {BRANCH_PREFIX}"
        if not branch.startswith(BRANCH_PREFIX):
            allow = f"let the bot push to {branch}, or set `push_to_head: false` in its policy"
        return ProtectedBranchError(
            f"The push was refused by a rule of the repository while {doing}: {words}; {advice or allow}."
        )
    if advice or _REJECTED.search(output):
        advice = advice or "publish again once that is settled"
        return PublishError(f"The server refused {doing}: {words}; {advice}.")
    text = next(
        (text for sign, text in _REFUSALS.items() if re.search(sign, output)), "git failed while {}: {}."
    )
    return PublishError(text.format(doing, words))


_REFUSALS = {
    "error: 403|Permission to|not granted": (
        "The token may not push (403) while {}: {}; give the job `permissions: contents: write`."
    ),
    "Authentication failed|error: 401|could not read Username": (
        "The server did not accept the token while {}: it is wrong or has expired."
    ),
    "not found|error: 404": "There is no such repository while {}, or the token may not see it.",
}
_REMOTE = re.compile(r"^(?:\s*stderr: ')?remote: *(.*?)\s*$", re.MULTILINE)
_REJECTED = re.compile(r"\[(?:remote )?rejected\] \((.+)\)\s*$", re.MULTILINE)
_WORDS_LIMIT = 600


_LARGEST = 256 << 10
# The folders in which GitHub looks for a template, in its order.
_TEMPLATE_FOLDERS = (".github/", "", "docs/")
TEMPLATE_NAME = re.compile(r"pull_request_template(\.md|\.txt)?", re.IGNORECASE)


def read_base_file(git: Git, sha: str, path: str) -> str | None:
    """Return a text file of the commit, or `None` if it has no regular file there."""
    listing = git.run("ls-tree", "-z", "--full-tree", "-l", sha, "--", path)
    mode, _, entry = listing.partition(b" ")
    if mode not in (b"100644", b"100755"):
        return None
    _, blob, size = entry.partition(b"\t")[0].split()
    if int(size) > _LARGEST:
        raise PublishError(f"{path} of the base commit has {int(size):,} bytes; {_LARGEST:,} is the limit.")
    return git.run("cat-file", "blob", blob.decode()).decode(errors="replace")


def read_template(git: Git, sha: str) -> str:
    """Return the repository's pull-request template at the base commit, or an empty string."""
    folders = [folder or "./" for folder in _TEMPLATE_FOLDERS]
    paths = sorted(git.listed("ls-tree", "-z", "--full-tree", "--name-only", sha, "--", *folders))
    for folder in _TEMPLATE_FOLDERS:
        for path in paths:
            if path.startswith(folder) and TEMPLATE_NAME.fullmatch(path.removeprefix(folder)):
                return read_base_file(git, sha, path) or ""
    return ""
