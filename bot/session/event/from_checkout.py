"""`slash-agent fix 123`, `--pr` and `review --post`: what a run on a checkout takes from GitHub, and what it publishes
there, with the person's own token."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote

from bot.checkout.github_remotes import GitHubRemote, ThreadName, remote_of
from bot.checkout.local import resolve
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.request import Actor, Request, Tier
from bot.events.admission import option_refusal, permits, tier_of
from bot.events.pull_context import with_pull_context
from bot.events.thread_text import ThreadTexts, build_thread
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.tokens import api_url_of, own_token
from bot.policy.load import load_policy
from bot.publish.bundle import PATCH, read_bundle
from bot.publish.context import PublishContext
from bot.publish.publish import publish
from bot.publish.result import PublishResult
from bot.publish.review.posted_reviews import read_memory
from bot.session.context.github_env import GitHubEnvironment, read_github_environment
from bot.session.context.review_scope import PullTarget
from bot.session.context.run import RunSpec
from bot.session.event.attachments import load_attachments
from bot.session.event.event_context import Say, client_for
from bot.session.event.other_work import pulls_at_work
from bot.session.event.publish_bundle import PublishJob, publish_bundle, publishing_clone
from bot.verbs.registry import VERBS

_SERVER, _API, _TOKEN = "GITHUB_SERVER_URL", "GITHUB_API_URL", "GITHUB_TOKEN"


@dataclass
class CheckoutOnGitHub:
    """The repository of a checkout's remote. `environment` has the token for its server, and the server's addresses."""

    repo: Path
    remote: GitHubRemote
    environment: Mapping[str, str]

    @property
    def secrets(self) -> Mapping[str, str]:
        """The token, for what must not leave the run."""
        return {"OWN_GITHUB_TOKEN": self.environment[_TOKEN]}

    @cached_property
    def where(self) -> GitHubEnvironment:
        return read_github_environment(self.environment)

    @cached_property
    def github(self) -> GitHub:
        return client_for(self.where, self.remote.repository)


def checkout_on_github(
    repo: Path, thread: ThreadName | None, environment: Mapping[str, str]
) -> CheckoutOnGitHub:
    """Return the repository that `thread` belongs to, or the one that `--pr` is for. Raises `UsageError` if no remote
    is on GitHub, or if there is no token for it. Sends no request."""
    remote = remote_of(repo, thread)
    own = {
        _SERVER: remote.server_url,
        _API: api_url_of(remote.server_url),
        _TOKEN: own_token(remote.host, environment),
    }
    of_jobs = ("GITHUB_", "SLASH_AGENT_")  # what would make this look like a job of Actions
    inherited = {name: value for name, value in environment.items() if not name.startswith(of_jobs)}
    return CheckoutOnGitHub(repo, remote, {**inherited, **own})


def request_from_github(
    at: CheckoutOnGitHub, spec: RunSpec, thread: ThreadName | None, *, publishes: bool, asks: bool
) -> RunSpec:
    """Return `spec` with the text of `thread` and what loads its attachments, and if it `publishes` with the policy of
    the remote's default branch, for the person's own account. `asks`: a person can look at the change before it is
    pushed. Raises `UsageError` and `GitHubError`."""
    request, policy_text, note = spec.request, None, ""
    if thread is not None:
        issue, request = f"#{thread.number}", _with_thread(at, request, thread.number)
        if VERBS[request.verb].changes and request.thread and not request.thread.is_pull_request:
            try:
                others = pulls_at_work(at.github, thread.number)
                note = others and f"Open pull requests that mention {issue}: {others}."
            except GitHubError as error:
                note = f"Whether open pull requests mention {issue} could not be read: {error}"
    if publishes:
        if request.thread is not None and request.thread.is_pull_request:
            raise UsageError(
                f"#{request.thread.number} is a pull request already, and --pr opens another one: leave out --pr, and "
                "push the branch that the run makes."
            )
        request, policy_text = _for_publishing(at, request, spec.model, asks=asks)
    load = partial(load_attachments, at.where, None) if request.thread else None
    notes = (note,) if note else ()
    return replace(spec, request=request, policy_text=policy_text, load_attachments=load, notes=notes)


def _with_thread(at: CheckoutOnGitHub, request: Request, number: int) -> Request:
    github = at.github
    with _readable(f"#{number} of {at.remote.repository}", at.remote.host):
        subject, texts = github.issue(number), ThreadTexts(github, number)
        thread = build_thread(subject, github.newest_comments(number), texts)
        request = request._replace(thread=thread)
        if subject.is_pull_request:
            own, head = resolve(at.repo, "HEAD").sha, github.pull(number).head_sha
            if head != own:
                raise UsageError(
                    f"#{number} is a pull request, and its head {head[:12]} is not checked out here (HEAD is "
                    f"{own[:12]}): check it out with `gh pr checkout {number}`, then do this again."
                )
            return with_pull_context(request, texts, head)
    return request


@contextmanager
def _readable(what: str, host: str) -> Iterator[None]:
    """Word an error of reading `what`."""
    try:
        yield
    except GitHubError as error:
        match error.status:
            case 404 | 410:
                why = f"{what} on {host} does not exist, or your token may not read it: check the number and the token"
            case 401:
                why = f"{host} did not accept your token: it is wrong or has expired. Sign in again, or set another one"
            case 0:
                why = f"{host} did not answer, so {what} was not read: check the network, or write what to do in words"
            case _:
                why = f"{what} was not read. {error}".rstrip(".")
        raise GitHubError(f"{why}.", error.failure) from error


def _for_publishing(
    at: CheckoutOnGitHub, request: Request, model: str, *, asks: bool
) -> tuple[Request, str | None]:
    """Return the request of the token's account, and the policy of the base branch."""
    name, head, github = at.remote.repository, resolve(at.repo, "HEAD").sha, at.github
    with _readable(f"the repository {name}", at.remote.host):
        repository, me = github.repository, github.me
        if me is None:
            raise UsageError(
                f"Your token for {at.remote.host} does not tell whose it is: use one of your account."
            )
        permission = github.permission(me.login)
        base, file = repository.default_branch, at.where.policy_file
        text = github.file(file, base)
        is_in_base = github.contains(base, head)
    actor = Actor(me.login, me.id, tier_of(permission))
    policy = load_policy(text, file)
    if repository.read_only:
        raise UsageError(f"{name} is {repository.read_only}, so no pull request can be opened in it.")
    if actor.tier is not Tier.MAINTAINER:
        raise UsageError(
            f"{actor.login} has no write access to {name}, so --pr cannot push a branch there: leave out --pr, push "
            "the branch to your fork, and open the pull request from it."
        )
    if not permits(policy, actor, request.verb):
        raise UsageError(f"The policy of {name} does not allow `{request.verb}` for the tier {actor.tier}.")
    if refusal := option_refusal(policy, {"model": model}):
        raise UsageError(refusal)
    if policy.pull_request.ci != "start" and not asks:
        raise UsageError(
            f"The policy of {name} lets CI wait until somebody has looked at a change, and a push with your own token "
            "starts it at once: run this in a terminal, which prints the change and asks you before the push, set "
            "`pull_request: {ci: start}` in the policy on its default branch, or leave out --pr and push the branch "
            "yourself."
        )
    if not is_in_base:
        raise UsageError(
            f"HEAD ({head[:12]}) is not part of {base} of {name}, so a pull request would have other commits too: push "
            f"them first, or switch to {base}. Without --pr the result is a branch here."
        )
    return request._replace(actor=actor, repository=name, base_ref=base), text


def find_target(at: CheckoutOnGitHub) -> PullTarget:
    """Return the open pull request of HEAD's branch, and what earlier reviews of it came to. Raises `UsageError` if
    there is none, or if its head is another one."""
    github, head, repository = at.github, resolve(at.repo, "HEAD"), at.remote.repository
    pulls = github.pulls_from(head.branch) if head.branch else []
    if not pulls:
        raise UsageError(
            f"The branch {head.branch or '(none)'} has no open pull request in {repository}: open one, then --post."
        )
    pull = github.pull(pulls[0].number)
    if pull.head_sha != head.sha:
        raise UsageError(
            f"HEAD is {head.sha[:12]}, and the head of #{pull.number} is {pull.head_sha[:12]}: push or pull first."
        )
    memory = read_memory(github, pull.number)
    return PullTarget(repository, at.where.git_url(repository), pull, memory)


def post_review(folder: Path, at: CheckoutOnGitHub, say: Say) -> PublishResult:
    """Publish the bundle of a local review as a job publishes its own: the gate and the pull request's base decide."""
    with publishing_clone(at.where, at.remote.repository) as remote:
        context = PublishContext(bundle=read_bundle(folder), github=at.github, remote=remote, say=say)
        return publish(context, at.remote.repository)


def publish_from_checkout(
    bundle: Path, at: CheckoutOnGitHub, say: Say, approve: Callable[[], bool]
) -> PublishResult:
    """Publish the bundle of a run as `slash-agent publish` does, with the token of `at`. `approve` returns whether a
    person approved the push, and raises `PublishError` if they refused. Raises `AgentError` with the place of the
    change, which is kept."""
    place, apply = f"The change is kept in {bundle}", f"git -C {quote(str(at.repo))} apply"
    try:
        approved = approve()
        return publish_bundle(PublishJob(at.environment, say, approved=approved), bundle)[1]
    except KeyboardInterrupt:
        say(place)
        raise
    except AgentError as error:
        error.add_note(place)
        error.add_note(f"apply it: {apply} {quote(str(bundle / PATCH))}")
        raise
