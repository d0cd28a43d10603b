"""Build the commit of a bundle: its patch on its base, judged again, in a bare git directory.

There is no work tree and nothing of the repository is run. The same bundle always gives the same commit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from bot.checkout.branches import Signature, commit_tree
from bot.checkout.git import Git
from bot.contracts.errors import GateError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Tier
from bot.gate.judge import judge_patch
from bot.gate.markdown import HOSTS, break_foreign_threads
from bot.gate.secrets import Finder, withhold_if_secret
from bot.gate.text import clean_line
from bot.gate.text import clean_message as clean_message_body
from bot.gate.verdict import MayWrite, Verdict
from bot.publish.body.title_and_footer import title
from bot.publish.bundle.read import Bundle

_MESSAGE_LIMIT = 8_000
_SUBJECT_LIMIT = 120
_TRAILER = re.compile(r"(?:[A-Za-z]+-)+by\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """A commit that may be pushed, and the gate's verdict on it."""

    sha: str
    verdict: Verdict


def build_commit(
    git: Git,
    bundle: Bundle,
    identity: Signature,
    *,
    sign_off: bool,
    host: str,
    may_write: MayWrite | None,
    finder: Finder | None = None,
) -> CheckedCommit:
    """Raises `GateError` when the gate would hold any of it back, as the run's own gate must have done. `finder` knows
    the repository's own rules for secrets."""
    outcome = bundle.outcome
    verdict = judge_patch(git, outcome.base_sha, bundle.patch, may_write=may_write)
    if verdict.withheld:
        first = verdict.withheld[0]
        raise GateError(
            f"The bundle's patch changes {first.path}, which is never published ({first.reason}): "
            "the bundle was tampered with after the run's own gate."
        )
    message = clean_message(bundle.message, outcome)
    if withheld := withhold_if_secret(message, finder):
        raise GateError(
            f"The commit's message is {withheld}: the bundle was tampered with after the run's own gate."
        )
    text = with_trailers(message, outcome.request.actor, identity, sign_off=sign_off, host=host)
    sha = commit_tree(
        git,
        verdict.tree_sha,
        outcome.base_sha,
        text,
        author=identity,
        committer=identity,
        when=outcome.ended_at,
    )
    return CheckedCommit(sha, verdict)


def commit_message(outcome: Outcome) -> str:
    """`message.md`: the subject, the model's summary and its notes for the reviewer. Publishing adds the trailers."""
    description = outcome.description
    notes = f"\n\nFor the reviewer:\n\n{description.notes}" if description.notes.strip() else ""
    return clean_message(f"{title(outcome)}\n\n{description.summary}{notes}", outcome) + "\n"


def clean_message(message: str, outcome: Outcome) -> str:
    """The message of a bundle, through the text gate, without trailers: who signs is not its to say."""
    if withhold_if_secret(message):
        return title(outcome)
    subject, _, rest = message.strip().partition("\n")
    lines = clean_message_body(rest, _MESSAGE_LIMIT).splitlines()
    body = "\n".join(line.rstrip() for line in lines if not _TRAILER.match(line.strip()))
    whole = f"{clean_line(subject, _SUBJECT_LIMIT) or title(outcome)}\n\n{body.strip()}".strip()
    request = outcome.request
    hosts = {*HOSTS, urlsplit(request.clone_url).netloc.lower()}
    # GitHub leaves a note in each thread that a pushed commit links to.
    return break_foreign_threads(whole, request.repository, hosts)


def with_trailers(message: str, actor: Actor, identity: Signature, *, sign_off: bool, host: str) -> str:
    """`host` is the server's: its no-reply addresses make the requester a co-author without a mailbox."""
    trailers = []
    if actor.id and actor.tier not in (Tier.LOCAL, Tier.SCHEDULE):
        trailers.append(f"Co-authored-by: {actor.login} <{actor.id}+{actor.login}@users.noreply.{host}>")
    if sign_off:
        trailers.append(f"Signed-off-by: {identity.name} <{identity.email}>")
    return "\n\n".join([message, "\n".join(trailers)]).strip() + "\n"


def server_host(url: str) -> str:
    return urlsplit(url).hostname or "github.com"
