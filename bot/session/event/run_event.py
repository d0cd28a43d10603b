"""`slash-agent run`: handle one GitHub event, from payload to answer or bundle.

Refusals come first: before any checkout, and before a model or a sandbox is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from bot.contracts.errors import AgentError, ExitCode
from bot.contracts.request import Request, Tier
from bot.contracts.threads import PullReader
from bot.events.admission import tier_of
from bot.events.command import Command
from bot.events.event import REVIEW_COMMENT, read_event
from bot.events.event_request import (
    Cause,
    EventRequest,
    NoRequest,
    Refusal,
    WorkflowInputs,
    parse_event_request,
)
from bot.events.resolve_request import build_request
from bot.github.errors import GitHubError
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.values import Policy
from bot.publish.thread.comments import put_comment
from bot.publish.thread.history import cost, count_tries
from bot.publish.thread.markers import ANSWER, REFUSED
from bot.session.context.github_env import read_github_environment, signed_in
from bot.session.event.event_context import (
    EventContext,
    EventOptions,
    EventResult,
    client_for,
)
from bot.session.event.progress_comment import answer_outsider, error_text, post_answer
from bot.verbs.record import Answer, Earlier
from bot.verbs.registry import INSTANT, VERBS, needs

Say = Callable[[str], None]


def run_event(
    options: EventOptions,
    environment: Mapping[str, str],
    say: Say,
    watch: Say,
    mask: Say = lambda secret: None,
) -> EventResult:
    """Handle one event. `say` gets the writes of a dry run, `watch` one line a tool call, `mask` each secret that is
    created."""
    where = read_github_environment(environment)
    inputs = WorkflowInputs(
        where.repository, options.instruction, options.task, _now(), where.run_url, where.target
    )
    event_request = parse_event_request(read_event(options.name, options.payload), inputs)
    if isinstance(event_request, NoRequest):
        return EventResult(ExitCode.DONE, event_request.reason)
    where = signed_in(where, event_request.repository.name, _access(event_request))
    for secret in where.minted_secrets.values():
        mask(secret)
    github = client_for(where, environment)
    if event_request.repository.clone_url:
        github.remember(event_request.repository)
    else:
        # A schedule's payload need not say where the default branch is, which the policy is read from.
        event_request = replace(event_request, repository=github.repository(event_request.repository.name))
    handler = EventHandler(
        options=options,
        environment={**environment, **where.minted_secrets},
        where=where,
        github=github,
        host=github.dry(say) if options.dry_run else github,
        event_request=event_request,
        now=inputs.now,
        say=say,
        watch=watch,
    )
    return handler.handle()


class EventHandler(EventContext):
    """Checks the actor of one event, then answers it, refuses it, or runs the request."""

    def handle(self) -> EventResult:
        ended = self._handle()
        return ended if self.finder is None else replace(ended, finder=self.finder)

    def _handle(self) -> EventResult:
        try:
            result = self.decide()
        except PolicyError as error:
            # Whoever could mend the file is told; to others it is no business of theirs.
            if self.person_waits and isinstance(self.build(self.event_request, load_policy(None)), Request):
                self.post_error(error)
            raise
        if isinstance(result, NoRequest):
            return EventResult(ExitCode.DONE, result.reason)
        if isinstance(result, Refusal):
            return self.refuse(result)
        try:
            if result.verb in INSTANT:
                return self.answer(result)
            return self.run_request(replace(result, policy_file=self.where.policy_file))
        except AgentError as error:
            # There is no bundle that could tell of it, and the thread must not wait for an answer that never comes.
            if self.person_waits:
                self.post_error(error)
            raise

    def post_error(self, error: AgentError) -> None:
        post_answer(self.host, self.thread_ref, error_text(str(error), self.where.run_url), self.watch)

    @property
    def person_waits(self) -> bool:
        """Whether a person waits for an answer. A push, a schedule or a failed run reports errors in the log only, or
        each push would leave a comment."""
        return self.event_request.tier is None and self.event_request.cause is not Cause.PULL_REQUEST

    def decide(self) -> Request | Refusal | NoRequest:
        """Return what to run. A `retry` is replaced by the request that it repeats, a `continue` has its last run and
        an `approve` its plan."""
        result = self.build(self.event_request, self.policy)
        if not isinstance(result, Request) or VERBS[result.verb].earlier is None:
            return result
        from bot.session.event.retry_continue import approve_request, continue_request, repeat_request

        if needs(result.verb, Earlier.REQUEST) and result.thread is not None:
            repeat = repeat_request(
                self.event_request,
                self.thread_ref,
                result.thread,
                actor=result.actor,
                github=self.github,
                policy=self.policy,
            )
            if isinstance(repeat, Refusal):
                return repeat
            event_request, repeated_key = repeat
            self.thread_ref = replace(self.thread_ref, of=repeated_key)
            result = self.build(event_request, self.policy)
        if isinstance(result, Request) and needs(result.verb, Earlier.RUN):
            return continue_request(result, self.thread_ref, self.github)
        if isinstance(result, Request) and needs(result.verb, Earlier.PLAN):
            return approve_request(result, self.thread_ref, self.github)
        return result

    def build(self, event_request: EventRequest, policy: Policy) -> Request | Refusal | NoRequest:
        return build_request(event_request, cast(PullReader, self.reader), lambda: policy, tries=self.tries)

    def tries(self, repository: str, number: int, head_sha: str) -> int:
        return count_tries(self.github, repository, number, head_sha)

    def refuse(self, refusal: Refusal) -> EventResult:
        command = self.event_request.command
        if refusal.in_thread and self.outsider_id:
            self._answer_outsider(REFUSED, lambda: refusal.reason)
        elif refusal.in_thread:
            if command is not None and command.near_miss and self.event_request.trigger.comment_id:
                self._react_confused()
            post_answer(self.host, self.thread_ref, refusal.reason, self.watch, self._refused_fields(command))
        return EventResult(refusal.exit_code, refusal.reason)

    def _answer_outsider(self, kind: str, text: Callable[[], str]) -> bool:
        return answer_outsider(
            self.host,
            self.thread_ref,
            kind,
            text,
            account=self.outsider_id,
            now=self.now,
            watch=self.watch,
        )

    def _react_confused(self) -> None:
        """React to a comment that was meant as a command."""
        trigger = self.event_request.trigger
        try:
            self.host.add_reaction(
                self.event_request.repository.name,
                trigger.comment_id,
                "confused",
                trigger.event == REVIEW_COMMENT,
            )
        except GitHubError as error:
            self.watch(f"note: no reaction to the comment: {error}")

    def _refused_fields(self, command: Command | None) -> dict[str, str]:
        """Fields of the mark: no model was asked, and a `retry` by the same person does not reach past a refused
        request."""
        actor = self.event_request.actor
        if command is None or command.problem or actor is None or command.verb in INSTANT:
            return dict(cost(0))
        if needs(command.verb, Earlier.REQUEST):
            return dict(cost(0))
        return {**cost(0), "refused": str(actor.id)}

    @property
    def outsider_id(self) -> int:
        """Id of the requesting account if GitHub gives it no access, else 0."""
        actor, permission = self.event_request.actor, self.reader.last_permission
        return actor.id if actor and permission and tier_of(permission) is Tier.OUTSIDER else 0

    def answer(self, request: Request) -> EventResult:
        """`help`, `status`, `stop`."""
        from bot.session.event.instant import InstantQuery, answer

        assert request.thread is not None
        query = InstantQuery(
            request,
            request.thread,
            self.policy,
            self.where.run,
            self.where.workflow,
            self.now,
        )
        if self.outsider_id:
            posted = self._answer_outsider(ANSWER, lambda: answer(query, self.host))
            return EventResult(ExitCode.DONE, "Answered." if posted else "Not answered.", answered=posted)
        text = answer(query, self.host)
        put_comment(self.host, self.thread_ref, ANSWER, text)
        return EventResult(ExitCode.DONE, text.partition("\n")[0].replace("**", ""), answered=True)

    def run_request(self, request: Request) -> EventResult:
        from bot.session.event.run_request import run_request

        result = run_request(self, request)
        return self.refuse(result) if isinstance(result, Refusal) else result


def _access(event_request: EventRequest) -> Access:
    """Return the access that the job's token needs. Without a thread there is nobody to answer."""
    if not event_request.number:
        return Access.READ
    command = event_request.command
    cancels = command is not None and VERBS[command.verb].answer is Answer.CANCELLATION
    return Access.STOP if cancels else Access.COMMENT


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
