"""What the base commit decides about a change, and the commit of a bundle in a bare git directory: its patch is judged
again by the policy of that base, and applied.

There is no work tree, and nothing of the repository is run. The same bundle always makes the same commit, unless the
policy requires signed commits: GitHub's API creates those, with its own date and signature, so that an existing one is
recognised by its content. Its tree must be the one that the gate judged.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from github.InputGitTreeElement import InputGitTreeElement

from bot.checkout.branches import Signature, commit_tree
from bot.checkout.git import CheckoutError, Git, GitError
from bot.checkout.objects import raw_changes
from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request, Tier
from bot.gate.clean_text import clean_message as clean_message_body
from bot.gate.judge import Verdict, judge_patch
from bot.gate.links_and_markdown import HOSTS, break_foreign_threads
from bot.gate.secrets import withhold_if_secret
from bot.maintenance.apply import with_task_limits
from bot.maintenance.task import Task, path_of, read_task
from bot.parsing.parser import Parser
from bot.policy.decide import may_write as paths_that_may_change
from bot.policy.load import load_policy
from bot.policy.settings import Policy
from bot.publish.commit_author import UNKNOWN_NOTE, author_of, noreply_address
from bot.publish.context import PublishContext
from bot.publish.convention.read import read_conventions
from bot.publish.remote import read_base_file
from bot.publish.title import title, with_title


class BaseRules(NamedTuple):
    """The rules of the commit `sha`. `labels` are a task's, for a new pull request; `author` is the account whose token
    pushes, unless the policy names another; `body_width` is that of a line of the commit's text, 0 for any."""

    sha: str
    policy: Policy
    labels: tuple[str, ...]
    author: Signature
    body_width: int


def read_rules(context: PublishContext, sha: str) -> tuple[PublishContext, BaseRules]:
    """Return the rules at `sha`, and the context with the token that they let push, and notes. Raises `PolicyError`."""
    with Parser() as parser:
        policy, task = read_policy(context.git, sha, context.request, parser)
        if task is not None:
            policy = with_task_limits(policy, task)
        context = with_ci_wait(context, policy)
        # Those of files alone: the run has given the title the form of the newest commits.
        conventions = read_conventions(context.git, sha, parser)
        outcome, problem = with_title(context.outcome, conventions, parser)
    context = replace(context, bundle=context.bundle._replace(outcome=outcome))
    context = context.with_notes(*conventions.problems, problem)
    account, identity = context.github.me, policy.identity
    if account is None and not identity.email:
        context = context.with_notes(UNKNOWN_NOTE)
    labels, author = task.labels if task else (), author_of(account, identity, context.remote.url)
    return context, BaseRules(sha, policy, labels, author, conventions.body_width)


def read_policy(git: Git, sha: str, request: Request, parser: Parser) -> tuple[Policy, Task | None]:
    """Return the policy and the request's task at the commit `sha`. Raises `PolicyError` and `PublishError`."""
    file = request.policy_file
    policy = load_policy(read_base_file(git, sha, file), file, parser)
    if not request.task:
        return policy, None
    path = path_of(request.task)
    text = read_base_file(git, sha, path)
    if text is None:
        raise PublishError(f"There is no task {request.task}: {path} is not in the base commit {sha[:12]}.")
    return policy, read_task(text, path, parser)


# Whether CI starts on the pushed commit: after an approval or, if the policy says `ci: start`, at once. By GitHub's
# "Triggering a workflow", the workflow's own token starts nothing for a push, and a run that waits for approval for a
# pull request that is opened, reopened or updated.

_NO_RUNS = (
    "CI does not start here by itself: what the workflow's own token pushes waits until somebody with write access "
    "approves the workflow runs"
)


def with_ci_wait(context: PublishContext, policy: Policy) -> PublishContext:
    """Return `context` with the workflow's own token, if there is one, unless the policy says `ci: start` or a person
    approved the change.

    The authors of the text that the model read are not looked up: they can delete it before this job runs."""
    if policy.pull_request.ci == "start" or context.approved:
        return context
    context = replace(context, ci_waits=True)
    if context.workflow is None or not context.starts_runs or context.github.is_dry:
        return context
    github, token = context.workflow()
    return replace(context, github=github, app=context.github, remote=replace(context.remote, token=token))


def check_ci_wait(context: PublishContext) -> None:
    """Raise `PublishError` if CI has to wait and a push with this token would start it."""
    if context.ci_waits and context.starts_runs and not context.github.is_dry:
        raise PublishError(
            "CI on a change waits for approval, which takes the workflow's own GITHUB_TOKEN, and there is none here "
            "that reaches this repository, so nothing was pushed. Publish with the action in a workflow of the "
            "repository, or let CI start at once: `pull_request: {ci: start}` in the policy."
        )


def ci_note(context: PublishContext, policy: Policy, *, foreign: bool) -> str:
    """Return the note on CI; empty if CI starts by itself. `foreign`: the branch has commits of a fork."""
    if context.starts_runs:
        return ""
    if started := _to_start(context, policy, foreign):
        return f"{_NO_RUNS}. {' and '.join(started)} was started on the branch instead."
    closed = " `dispatch` starts workflows only with `pull_request: {ci: start}`."
    closed = closed if policy.dispatch and not foreign else ""
    return (
        f"{_NO_RUNS}.{closed} If there is nothing to approve, close and reopen this pull request to start it."
    )


def start_workflows(context: PublishContext, policy: Policy, branch: str, *, foreign: bool) -> None:
    """Start the policy's workflows on the new commit."""
    for workflow in _to_start(context, policy, foreign):
        with context.tolerating(f"{workflow} was not started"):
            context.github.dispatch_workflow(workflow, branch)


def _to_start(context: PublishContext, policy: Policy, foreign: bool) -> tuple[str, ...]:
    """None for a fork's commits, or if CI must wait: they would run at once with this repository's secrets."""
    return () if foreign or context.starts_runs or context.ci_waits else policy.dispatch


_MESSAGE_LIMIT = 8_000
ROUND_TRAILER = "Agent-Round"
"""The trailer of a commit of a round: its kind."""
_TAMPERED = "the bundle was tampered with after the run's own gate."
_TRAILER = re.compile(r"(?:[A-Za-z]+-)+by\s*:", re.IGNORECASE)


class CheckedCommit(NamedTuple):
    """A commit that may be pushed: the gate's verdict on it, and the rules that it was judged by. `change` is the same
    for each publishing of a bundle: the commit's id, or that of the commit before GitHub signed it."""

    sha: str
    change: str
    verdict: Verdict
    rules: BaseRules

    @property
    def policy(self) -> Policy:
        return self.rules.policy


def build_commit(context: PublishContext, rules: BaseRules, parents: Sequence[str] = ()) -> CheckedCommit:
    """Build the commit by `rules` on `parents`, by default the bundle's base. Raises `GateError` if the gate withholds
    any of it, as the run's must have."""
    outcome, git, policy = context.outcome, context.git, rules.policy
    may_write = paths_that_may_change(policy, context.request.actor.tier)
    verdict = judge_patch(git, outcome.base_sha, context.bundle.patch, may_write=may_write)
    if verdict.withheld:
        first = verdict.withheld[0]
        raise GateError(
            f"The bundle's patch changes {first.path}, which is never published ({first.reason}): {_TAMPERED}"
        )
    sha = commit_tree(
        git,
        verdict.tree_sha,
        parents or (outcome.base_sha,),
        _message(context, rules),
        author=rules.author,
        committer=rules.author,
        when=outcome.ended_at,
    )
    return CheckedCommit(sha, sha, verdict, rules)


def _message(context: PublishContext, rules: BaseRules) -> str:
    message = clean_message(context.bundle.message, context.outcome)
    if rules.body_width:
        message = "\n".join(_wrapped(line, rules.body_width) for line in message.split("\n"))
    # The bundle's own subject is not published, and yet shows that the bundle was tampered with.
    whole = message if withhold_if_secret(context.bundle.message) else f"{context.bundle.message}\n{message}"
    if withheld := withhold_if_secret(whole):
        raise GateError(f"The commit's message is {withheld}: {_TAMPERED}")
    # A requester who is not the author is a co-author by a no-reply address.
    trailers, (name, email), request = [], rules.author, context.request
    address = noreply_address(request.actor.login, request.actor.id, context.remote.url)
    if request.actor.id and request.actor.tier not in (Tier.LOCAL, Tier.SCHEDULE) and address != email:
        trailers.append(f"Co-authored-by: {request.actor.login} <{address}>")
    if rules.policy.pull_request.sign_off:
        trailers.append(f"Signed-off-by: {name} <{email}>")
    if request.counts_as:
        trailers.append(f"{ROUND_TRAILER}: {request.counts_as}")
    return "\n\n".join([message, "\n".join(trailers)]).strip() + "\n"


def _wrapped(line: str, width: int) -> str:
    """Return a line of a message in lines of at most `width` characters, unless a word is longer."""
    if len(line) <= width:
        return line
    gap = " " * (len(line) - len(line.lstrip(" -*")))
    return textwrap.fill(line, width, subsequent_indent=gap, break_long_words=False, break_on_hyphens=False)


def commit_message(outcome: Outcome) -> str:
    """Return the text of `message.md`: subject, summary and notes for the reviewer. Publishing adds the trailers."""
    description = outcome.description
    notes = f"\n\nFor the reviewer:\n\n{description.notes}" if description.notes.strip() else ""
    return clean_message(f"{title(outcome)}\n\n{description.summary}{notes}", outcome) + "\n"


def clean_message(message: str, outcome: Outcome) -> str:
    """Return the message of a bundle with the title as its subject, filtered by the text gate, without trailers."""
    if withhold_if_secret(message):
        return title(outcome)
    _, _, rest = message.strip().partition("\n")
    lines = clean_message_body(rest, _MESSAGE_LIMIT).splitlines()
    body = "\n".join(line.rstrip() for line in lines if not _TRAILER.match(line.strip()))
    whole = f"{title(outcome)}\n\n{body.strip()}".strip()
    request = outcome.request
    hosts = {*HOSTS, urlsplit(request.clone_url).netloc.lower()}
    # GitHub adds a note to each thread that a pushed commit links to.
    return break_foreign_threads(whole, request.repository, hosts)


_MOST_COMPARED = 30
_GONE = "D"


def signed(context: PublishContext, commit: CheckedCommit, existing: Iterable[str]) -> CheckedCommit:
    """Return `commit`, if the policy requires signed ones as a commit by GitHub: one of `existing`, or a new one."""
    if not commit.policy.pull_request.signed or context.github.is_dry:
        return commit
    wanted = _content(context.git, commit.sha)
    for sha in list(dict.fromkeys(existing))[:_MOST_COMPARED]:
        if _fetched(context, sha) and _content(context.git, sha) == wanted:
            return commit._replace(sha=sha)
    (judged, *parents), message = wanted
    base_tree = context.git.line("rev-parse", f"{parents[0]}^{{tree}}")
    entries = list(_entries(context, parents[0], commit.sha))
    tree = context.github.create_tree(base_tree, entries)
    if tree != judged:
        raise PublishError("GitHub made another tree than the one that was judged: nothing was pushed.")
    sha = context.github.create_commit(message=message, tree=tree, parents=parents)
    if not _fetched(context, sha) or _content(context.git, sha) != wanted:
        raise PublishError("GitHub made a different commit from the requested one. Nothing was pushed.")
    return commit._replace(sha=sha)


def same_change(context: PublishContext, sha: str, other: str) -> bool:
    """Whether two commits have the same tree and parents; false if one cannot be fetched."""
    if not _fetched(context, sha):
        return False
    return _content(context.git, sha)[0] == _content(context.git, other)[0]


def _entries(context: PublishContext, parent: str, commit: str) -> Iterator[InputGitTreeElement]:
    """Yield the entries that the commit changes: text inline, other bytes as blobs."""
    for one in raw_changes(context.git, parent, commit):
        if one.status == _GONE:
            yield InputGitTreeElement(one.path, one.old_mode, "blob", sha=None)
            continue
        content = context.git.run("cat-file", "blob", one.new_sha)
        try:
            yield InputGitTreeElement(one.path, one.new_mode, "blob", content.decode())
        except UnicodeDecodeError:
            yield InputGitTreeElement(one.path, one.new_mode, "blob", sha=context.github.create_blob(content))


def _fetched(context: PublishContext, sha: str) -> bool:
    try:
        context.git.run("cat-file", "-e", f"{sha}^{{commit}}")
    except GitError:
        try:
            # With its parent: a commit at the end of a shallow history has none and could not be pushed.
            context.remote.fetch(sha, depth=2)
        except CheckoutError:
            return False
    return True


def _content(git: Git, sha: str) -> tuple[list[str], str]:
    """Return the tree and the parents of a commit, and its message: what identifies its change, not author and date."""
    head, _, message = git.run("cat-file", "commit", sha).decode(errors="replace").partition("\n\n")
    ids = [line.split()[1] for line in head.splitlines() if line.startswith(("tree ", "parent "))]
    return ids, message.strip()
