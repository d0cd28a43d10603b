"""Where the last run's bundle is gone: its change, from the open pull request that the bot made for the thread.

Only a branch that holds the bot's one commit and nothing else is gone on from. Its diff becomes a bundle, and goes the
way of any other: read as hostile, and through the gate.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bot import __version__
from bot.checkout import layout
from bot.checkout import remote as transport
from bot.checkout.branches import branch_name
from bot.checkout.clone import Source
from bot.checkout.git import Git
from bot.contracts.messages import Usage
from bot.contracts.outcome import SCHEMA_VERSION, Description, Outcome, Status, StopReason
from bot.contracts.request import Request, Verb
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import PullData
from bot.publish.bundle.write import write_bundle
from bot.publish.change.branch import branch_patterns
from bot.publish.remote import PREFIX, Remote
from bot.publish.thread.markers import PULL_REQUEST, is_ours, read_mark

_TIP = "refs/agent/last"
_DIFF = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")


class Found(NamedTuple):
    """`note` is a sentence for people, empty where there is nothing to say; `made` whether there is a bundle now."""

    note: str = ""
    made: bool = False


def bundle_from_branch(
    host: Host, request: Request, source: Source, email: str, room: Path, bundle: Path
) -> Found:
    """Put the change of the thread's pull request into `bundle`, working in `room`; neither may exist. `email` is the
    one that the bot commits with."""
    if request.thread is None or request.thread.is_pull_request or request.task:
        return Found()
    layout.make_git_dir(room, bare=True, object_format=layout.object_format_of(""))
    try:
        pulls = _own_pulls(host, request, Remote(room, source.url, source.token))
        ours = next((pull for pull in pulls if _only_ours(host, request, pull, email)), None)
    except GitHubError as error:
        if error.status not in (403, 404) or error.failure.rate_limited:
            raise
        return Found(
            "Whether there is a pull request of the last run could not be seen: by the thread alone."
        )
    if ours is None:
        return Found(_others_are_on(pulls))
    git = Git(room)
    transport.fetch(room, source.url, [f"+{ours.head_sha}:{_TIP}"], source.token, ["--depth=2", "--no-tags"])
    parents = git.run("rev-parse", f"{_TIP}^@").decode().split()
    if len(parents) != 1 or not host.contains(request.repository, request.base_ref, parents[0]):
        return Found(_others_are_on([ours]))
    patch = git.run(*_DIFF, parents[0], _TIP)
    write_bundle(bundle, _outcome(request, ours, parents[0]), patch, b"", "")
    return Found(f"The last run's bundle is not kept any more: this goes on from #{ours.number}.", made=True)


def _own_pulls(host: Host, request: Request, remote: Remote) -> list[PullData]:
    """Open ones of ours for the thread, in the order in which publishing looks at them."""
    assert request.thread is not None
    number, wanted = request.thread.number, {"issue": str(request.thread.number), "task": ""}
    heads = remote.refs(*branch_patterns(number, branch_name(number, ""))).heads
    found = []
    for branch in sorted((name for name in heads if name.startswith(PREFIX)), key=len):
        for pull in host.open_pulls(request.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or {name: fields.get(name, "") for name in wanted} != wanted:
                continue
            if pull.base_branch == request.base_ref and is_ours(pull.author, host.me(), PULL_REQUEST):
                # What the server's branch holds now, and not what its API remembers.
                found.append(replace(pull, head_sha=heads[branch]))
    return found


def _only_ours(host: Host, request: Request, pull: PullData, email: str) -> bool:
    """Whether its one commit is the one that our mark names; or, where the mark is older than the branch, by us."""
    commits = host.pull_commits(request.repository, pull.number)
    if [commit.sha for commit in commits] != [pull.head_sha]:
        return False
    recorded = (read_mark(pull.body, PULL_REQUEST) or {}).get("head", "")
    return recorded == pull.head_sha or {commits[0].author_email, commits[0].committer_email} == {email}


def _others_are_on(pulls: list[PullData]) -> str:
    if not pulls:
        return ""
    named = ", ".join(f"#{pull.number}" for pull in pulls)
    return (
        "The last run's bundle is not kept any more, and others have committed to "
        f"{named}, which is left alone: this goes by the thread."
    )


def _outcome(request: Request, pull: PullData, base_sha: str) -> Outcome:
    """What can be said of the run that made `pull`: of its own account nothing is left."""
    asked = replace(request, verb=Verb.FIX, instruction="what the thread shows", resumes=0, plan=None)
    return Outcome(
        schema=SCHEMA_VERSION,
        version=__version__,
        status=Status.CHANGED,
        stop_reason=StopReason.END_TURN,
        reason=f"It opened pull request #{pull.number}",
        request=asked,
        base_sha=base_sha,
        model="",
        sandbox="",
        started_at=pull.created_at,
        ended_at=pull.updated_at,
        turns=0,
        usage=Usage(),
        cost=0.0,
        description=Description(title=pull.title),
    )
