"""`slash-agent run`: one GitHub event, from payload to answer or bundle.

Refusals come first and cost least: before any checkout, before a model or a sandbox is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contracts.errors import AgentError, ExitCode
from bot.contracts.outcome import Outcome
from bot.contracts.progress import View
from bot.contracts.request import Request, Tier, Verb
from bot.gate.secrets import Finder
from bot.github.app import Access
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.intake.asked import Asked, Cause
from bot.intake.command import Command
from bot.intake.event import REVIEW_COMMENT, Event, read_event
from bot.intake.request import INSTANT, Given, Ignored, Refusal, build_request, recognise
from bot.intake.who import tier_of
from bot.policy.admit import admission
from bot.policy.errors import PolicyError
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.publish.thread.comments import put_comment
from bot.publish.thread.markers import ANSWER, REFUSED
from bot.publish.thread.place import Place, key_of
from bot.publish.thread.traces import tries_at
from bot.run.clients import client_for
from bot.run.folder import RunFolder
from bot.run.github_env import GitHubEnvironment, read_github_environment, signed_in
from bot.run.overheard import Overheard
from bot.run.quota import Quota, check_quota, usd_left
from bot.run.told import tell, tell_stranger, trouble_text
from bot.sandbox.choose import Setting

if TYPE_CHECKING:
    from bot.run.prepare import Phase

Say = Callable[[str], None]

_CANCELED = "**The run was canceled** while what the checks need was installed. Nothing was changed."
# What needs something that was said before in the thread.
_OF_EARLIER = frozenset({Verb.RETRY, Verb.CONTINUE, Verb.APPROVE})


@dataclass(frozen=True, slots=True)
class EventRun:
    """What the command line asked for. With `dry_run` every write to GitHub is said instead of made.

    `instruction` and `task` are the workflow's own words, for events that hold none of anybody's. `view` is who looks
    on in place of the job's log. With `prepare` nothing is answered or done but a phase of `bot/run/prepare.py`.
    """

    name: str
    payload: Path
    out: Path | None = None
    dry_run: bool = False
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    workspace: Path | None = None
    instruction: str = ""
    task: str = ""
    view: View | None = None
    prepare: Phase | None = None


@dataclass(frozen=True, slots=True)
class EventEnded:
    """What came of an event. `outcome` and `bundle` are `None` where there was nothing to do, nobody may, or the
    answer was given at once (`answered`). `finder` knows the repository's own rules for secrets, where it has some.
    `prepared` are the outputs of a step that prepares. `kept_run` is the folder of a run whose tree stays."""

    exit_code: ExitCode
    reason: str
    outcome: Outcome | None = None
    bundle: Path | None = None
    answered: bool = False
    finder: Finder | None = None
    prepared: Mapping[str, str] = field(default_factory=dict)
    kept_run: RunFolder | None = None


def run_event(
    asked: EventRun, environment: Mapping[str, str], say: Say, watch: Say, mask: Say = lambda secret: None
) -> EventEnded:
    """Handle one event. `say` takes what would be written in a dry run, `watch` a line a tool call, `mask` a secret
    that was made on the way."""
    where = read_github_environment(environment)
    given = Given(where.repository, asked.instruction, asked.task, _now(), where.run_url, where.target)
    event = read_event(asked.name, asked.payload)
    wanted = recognise(event, given)
    if isinstance(wanted, Ignored):
        return EventEnded(ExitCode.DONE, wanted.reason)
    where = signed_in(where, wanted.repository.name, _access(wanted))
    for secret in where.made.values():
        mask(secret)
    github = client_for(where, environment)
    if wanted.repository.clone_url:
        github.know(wanted.repository)
    else:
        # A schedule's payload need not say where the default branch is, which the policy is read from.
        wanted = replace(wanted, repository=github.repository(wanted.repository.name))
    host: Host = Recorder(github, say, github.leaving) if asked.dry_run else github
    known = {**environment, **where.made}
    return _Handling(asked, known, where, github, host, given, wanted, say, watch).handle(event)


class _Handling:
    """One event on its way: who asks is checked, then it is answered, refused, or carried out."""

    def __init__(
        self, asked: EventRun, environment: Mapping[str, str], where: GitHubEnvironment, github: GitHub, host: Host,
        given: Given, wanted: Asked, say: Say, watch: Say,
    ) -> None:  # fmt: skip
        self.asked = asked
        self.environment = environment
        self.where = where
        self.github = github
        self.host = host
        self.given = given
        self.wanted = wanted
        self.say = say
        self.watch = watch
        self.reader = Overheard(github)
        self.place = place_of_event(wanted, where)
        self._policy: Policy | None = None
        self.finder: Finder | None = None

    @property
    def policy(self) -> Policy:
        """Who may do what is the default branch's to say: a branch that the commenter names must not let them in."""
        if self._policy is None:
            repository = self.wanted.repository
            file = self.where.policy_file
            self._policy = load_policy(
                self.github.file(repository.name, file, repository.default_branch), file
            )
            self.finder = self._know(self._policy)
        return self._policy

    def _know(self, policy: Policy) -> Finder | None:
        """What the repository's own rules find, known to the gate from here on; `None` where it has none."""
        if not policy.detector.rules:
            return None
        from bot.gate.github import know
        from bot.run.base import finder_of

        repository = self.wanted.repository
        branch = repository.default_branch
        finder = finder_of(
            policy, lambda path: self.github.file(repository.name, path, branch), f"on {branch}"
        )
        know(self.github, finder)
        return finder

    def handle(self, event: Event) -> EventEnded:
        ended = self._handle(event)
        return ended if self.finder is None else replace(ended, finder=self.finder)

    def _handle(self, event: Event) -> EventEnded:
        try:
            decided = self.decide(event)
        except PolicyError as error:
            # Whoever could mend the file is told; to others it is no business of theirs.
            waits = self.somebody_waits and not self.asked.prepare
            if waits and isinstance(self.build(event, load_policy(None)), Request):
                self.tell_trouble(error)
            raise
        if isinstance(decided, Ignored):
            return EventEnded(ExitCode.DONE, decided.reason)
        if self.asked.prepare:
            return self.prepare(decided)
        if isinstance(decided, Refusal):
            return self.refuse(decided)
        try:
            if decided.verb in INSTANT:
                return self.answer(decided)
            return self.carry_out(replace(decided, policy_file=self.where.policy_file))
        except AgentError as error:
            # There is no bundle that could tell of it, and the thread must not wait for an answer that never comes.
            if self.somebody_waits:
                self.tell_trouble(error)
            raise

    def prepare(self, decided: Request | Refusal) -> EventEnded:
        if isinstance(decided, Refusal):
            return EventEnded(ExitCode.DONE, decided.reason)
        from bot.run.prepare import prepare_environment

        request = replace(decided, policy_file=self.where.policy_file)
        outputs = prepare_environment(self.asked, request, self.where, self.environment, self.watch)
        if "canceled" in outputs:
            run = f" · [run]({self.where.run_url})" if self.where.run_url else ""
            tell(self.host, self.place, f"{_CANCELED}{run}", self.watch)
        return EventEnded(ExitCode.DONE, "", prepared=outputs)

    def tell_trouble(self, error: AgentError) -> None:
        tell(self.host, self.place, trouble_text(str(error), self.where.run_url), self.watch)

    @property
    def somebody_waits(self) -> bool:
        """Whether a person asked. What a push, a schedule or a failed run set off fails in the log alone, or each
        push would leave a comment."""
        return self.wanted.tier is None and self.wanted.cause is not Cause.PULL_REQUEST

    def decide(self, event: Event) -> Request | Refusal | Ignored:
        """What is to be done. A `retry` is already the request that it repeats, a `continue` knows its last
        run and an `approve` its plan."""
        decided = self.build(event, self.policy)
        if not isinstance(decided, Request) or decided.verb not in _OF_EARLIER:
            return decided
        from bot.run.again import continued, repeated
        from bot.run.approval import approved

        if decided.verb is Verb.RETRY and decided.thread is not None:
            before = repeated(
                event, self.place, decided.thread, decided.actor, self.github, admission(self.policy)
            )
            if isinstance(before, Refusal):
                return before
            event, of = before
            self.place = replace(self.place, of=of)
            decided = self.build(event, self.policy)
        if isinstance(decided, Request) and decided.verb is Verb.CONTINUE:
            return continued(decided, self.place, self.github)
        if isinstance(decided, Request) and decided.verb is Verb.APPROVE:
            return approved(decided, self.place, self.github)
        return decided

    def build(self, event: Event, policy: Policy) -> Request | Refusal | Ignored:
        return build_request(
            event, self.reader, lambda: admission(policy), given=self.given, tries=self.tries
        )

    def tries(self, repository: str, number: int, head_sha: str) -> int:
        return tries_at(self.github, repository, number, head_sha)

    def refuse(self, refusal: Refusal) -> EventEnded:
        command = self.wanted.command
        if refusal.said and self.stranger:
            tell_stranger(
                self.host,
                self.place,
                REFUSED,
                lambda: refusal.reason,
                self.stranger,
                self.given.now,
                self.watch,
            )
        elif refusal.said:
            if command is not None and command.missed and self.wanted.trigger.comment_id:
                self._shrug()
            tell(self.host, self.place, refusal.reason, self.watch, self._refused_fields(command))
        return EventEnded(refusal.exit_code, refusal.reason)

    def _shrug(self) -> None:
        """A reaction to what was meant as a command and is none."""
        trigger = self.wanted.trigger
        try:
            self.host.add_reaction(
                self.wanted.repository.name, trigger.comment_id, "confused", trigger.event == REVIEW_COMMENT
            )
        except GitHubError as error:
            self.watch(f"note: no reaction to the comment: {error}")

    def _refused_fields(self, command: Command | None) -> dict[str, str]:
        """For the mark: a `retry` of the same person does not reach past a request that was refused."""
        asker = self.wanted.asker
        if command is None or command.problem or asker is None or command.verb in (Verb.RETRY, *INSTANT):
            return {}
        return {"refused": str(asker.id)}

    @property
    def stranger(self) -> int:
        """The account that asked where it has no right at all, by what GitHub said of it; else 0."""
        asker, standing = self.wanted.asker, self.reader.standing
        return asker.id if asker and standing and tier_of(standing) is Tier.OUTSIDER else 0

    def answer(self, request: Request) -> EventEnded:
        """`help`, `status`, `stop`."""
        from bot.run.instant import Question, answer

        assert request.thread is not None
        question = Question(
            request, request.thread, self.policy, admission(self.policy), self.where.run, self.where.workflow,
            self.given.now,
        )  # fmt: skip
        if self.stranger:
            told = tell_stranger(
                self.host, self.place, ANSWER, lambda: answer(question, self.host), self.stranger, self.given.now,
                self.watch,
            )  # fmt: skip
            return EventEnded(ExitCode.DONE, "Answered." if told else "Not answered.", answered=told)
        text = answer(question, self.host)
        put_comment(self.host, self.place, ANSWER, text)
        return EventEnded(ExitCode.DONE, text.partition("\n")[0].replace("**", ""), answered=True)

    def carry_out(self, request: Request) -> EventEnded:
        from bot.run.carry_out import Work, carry_out
        from bot.run.queue import result_of, tell_of_dropped

        if done := result_of(self.reader, self.place, self.host):
            return self._done_already(done)
        if outcome := self._earlier_attempt(request):
            return EventEnded(ExitCode.DONE, outcome.reason, outcome, self.asked.out)
        quota = Quota() if self._planned(request) else self._quota(request)
        if quota.refusal:
            return self.refuse(Refusal(quota.refusal, said=request.actor.tier is not Tier.BOT))
        if quota.note:
            self.watch(quota.note)
        left = self._usd_left(request)
        if isinstance(left, Refusal):
            return self.refuse(left)
        tell_of_dropped(self.host, self.reader, request, self.place, admission(self.policy), self.watch)
        work = Work(
            self.asked,
            self.environment,
            self.where,
            self.github,
            self.place,
            self.policy,
            self.given.now,
            left,
            self.finder,
        )
        return carry_out(work, request, self.say, self.watch)

    def _done_already(self, url: str) -> EventEnded:
        """Without a model: the thread has the result. The comment that the action began for this run goes."""
        begun = self.environment.get("SLASH_AGENT_COMMENT", "")
        try:
            if begun.isdecimal() and not url.endswith(f"-{begun}"):
                self.host.delete_comment(self.wanted.repository.name, int(begun))
        except GitHubError as error:
            self.watch(f"note: the second progress comment could not be deleted: {error}")
        reason = f"This request is done already, see {url}. `/agent retry` does it again."
        return EventEnded(ExitCode.DONE, reason, answered=True)

    def _earlier_attempt(self, request: Request) -> Outcome | None:
        """What an earlier attempt of this job made; its bundle is where this one's would be."""
        out, run = self.asked.out, self.where.run
        if self.environment.get("GITHUB_RUN_ATTEMPT", "1") == "1" or not run or out is None or out.exists():
            return None
        from bot.run.again import finished_before

        outcome = finished_before(request, self.github, run, out)
        if outcome:
            self.watch("note: an earlier attempt of this job finished the request; its bundle is published")
        return outcome

    def _planned(self, request: Request) -> bool:
        """Whether it is an entry of a maintenance plan, which counted it already."""
        return bool(self.where.target and request.task)

    def _usd_left(self, request: Request) -> float | Refusal | None:
        tier = self.policy.tiers[request.actor.tier]
        if tier.usd_a_day is None or not self.place.number:
            return None
        return usd_left(
            self.github, request, tier.usd_a_day, self.given.now, self.place.run,
            shown=self.environment.get("SLASH_AGENT_PROGRESS") != "false", most=tier.usd,
        )  # fmt: skip

    def _quota(self, request: Request) -> Quota:
        tier = self.policy.tiers[request.actor.tier]
        return check_quota(
            self.github, request.repository, request.actor, tier.runs_a_day,
            run=self.where.run, workflow=self.where.workflow, now=self.given.now, event=self.wanted.trigger.event,
        )  # fmt: skip


def _access(wanted: Asked) -> Access:
    """What the job's token must be able to do: where there is no thread, there is nobody to answer."""
    if not wanted.number:
        return Access.READ
    stops = wanted.command is not None and wanted.command.verb is Verb.STOP
    return Access.STOP if stops else Access.TALK


def place_of_event(wanted: Asked, where: GitHubEnvironment) -> Place:
    """Where the request of an event stands."""
    trigger = wanted.trigger
    return Place(
        wanted.repository.name,
        wanted.number,
        key_of(trigger, wanted.head_sha),
        trigger.at,
        wanted.anchor.id if wanted.anchor else 0,
        str(where.run or ""),
        url=wanted.subject.url if wanted.subject else "",
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
