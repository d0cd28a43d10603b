"""The action's first step: may this go on? Before anything is installed, in about a tenth of a second.

Usage: admission.py, in a step with the event's environment and a token in SLASH_AGENT_GITHUB_TOKEN. It imports only modules
that need nothing installed. Outputs: `go`, `reason`; `note`, for a job that reports why a pull request got nothing;
`comment`, the id of the progress comment. With SLASH_AGENT_MODE=gate: `gate`, for the SLASH_AGENT_GATE of a later job,
and `commit`, a base or head of this repository, to install from in a job without secrets.

It lets nobody in: the program checks everything again, with the whole policy. Where it cannot tell, that check decides.
At most four API calls; for a pull request in a gate one more, and one for each hundred files.
"""

from __future__ import annotations

import json
import os
import sys
import time
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bot.contracts.errors import AgentError, ExitCode, UsageError  # noqa: E402
from bot.contracts.request import Tier  # noqa: E402
from bot.environment.prepared import commit_to_prepare  # noqa: E402
from bot.events import admission  # noqa: E402
from bot.events.event_request import ISSUE_COMMENT, REVIEW_COMMENT, Cause, EventRequest  # noqa: E402
from bot.events.event_request import NoRequestError, WorkflowInputs  # noqa: E402
from bot.events.payload import Account  # noqa: E402
from bot.events.read_event import read_event  # noqa: E402
from bot.github.actions import Actions  # noqa: E402
from bot.github.stdlib_api import Api, ApiError  # noqa: E402
from bot.policy.load import policy_file  # noqa: E402
from bot.publish.thread import markers  # noqa: E402
from bot.publish.thread.markers import ANSWER, PROGRESS, REFUSED, mark, marked, read_mark  # noqa: E402
from bot.verbs.registry import DEFAULT, INSTANT, VERBS, started_by, verbs_of  # noqa: E402

CONFIGURED = {Cause.LABEL: "labels", Cause.ASSIGNMENT: "assignee", Cause.FAILED_RUN: "failed_runs"}
CONFIGURED |= {Cause.REPLY: "replies", Cause.FAILED_UPDATE: "authors"}
INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")  # by GitHub; only the order of the questions depends on it
GO = "go"
QUEUED = "**Queued**\n\n- starts when a runner is free and earlier requests in this thread are done"
INPUTS = ("GITHUB_REPOSITORY", "SLASH_AGENT_INSTRUCTION", "SLASH_AGENT_TASK")
PAGE = 100


@dataclass(frozen=True)
class Decision:
    """`known` is true for somebody whom the API called a maintainer; `refuse` where they are to be told. `is_unasked`:
    the policy requests nothing of such an event."""

    go: bool
    reason: str
    known: bool = False
    refuse: bool = False
    is_unasked: bool = False


class Check:
    """The part of the full check that needs nothing installed. `association` is the payload's word on the author of a
    command; of a pull request it is the word on its author, who need not be who pushes to it."""

    def __init__(self, event_request: EventRequest, association: str, api: Api, policy: str) -> None:
        self.event_request = event_request
        self.insider = event_request.command is not None and association in INSIDERS
        self.api, self.file = api, policy
        self.base = f"/repos/{event_request.repository.name}"

    def decide(self) -> Decision:
        """Whether it is worth going on: what the program would refuse is refused here."""
        request = self.event_request
        author, sender, subject = request.actor, request.sender, request.subject
        key = CONFIGURED.get(request.cause)
        is_draft = request.cause is Cause.PULL_REQUEST and subject is not None and subject.draft
        if subject is not None and subject.locked:
            return Decision(False, admission.LOCKED)
        if key and key not in self.policy:
            return Decision(False, f"{self.file} has no `{key}`.", is_unasked=True)
        if is_draft and "drafts" not in self.policy:
            return Decision(False, "The pull request is a draft: reviewed when ready, or when asked.", is_unasked=True)
        if request.tier is not None:
            return Decision(True, f"The event `{request.trigger.event}` is looked at.")
        if author is None:
            return Decision(False, "The account that gave the command is deleted.")
        if sender is not None and sender.id != author.id:
            return Decision(False, f"{sender.login} sent this event, but {author.login} wrote the command.")
        if author.kind == "Bot" or author.login.endswith("[bot]"):
            if str(author.id) in self.policy:
                return Decision(True, f"{author.login} is a bot, and {self.file} names it.")
            # On an issue the program reports, which finds what it wrote before.
            return Decision(request.command is None and not request.head_sha, admission.not_listed(author))
        return self._person(author)

    def _person(self, author: Account) -> Decision:
        login = quote(author.login, safe="")
        if not self.insider and not self.event_request.repository.private:
            status, _ = self.api.get(f"{self.base}/collaborators/{login}")
            if status == 404:
                return self._stranger(author)
        status, answer = self.api.get(f"{self.base}/collaborators/{login}/permission")
        user = (answer or {}).get("user") or {}
        if status == 404 or user.get("id") != author.id:
            return Decision(False, admission.other_account(author, user.get("id") or 0))
        if answer.get("permission") in ("admin", "maintain", "write"):
            return Decision(True, f"{author.login} may write here.", known=True)
        if answer.get("permission") == "none":
            return self._stranger(author)
        return Decision(True, f"{author.login} may read here; what else, the policy says.")

    def _stranger(self, author: Account) -> Decision:
        """Somebody without any right: one answer a day, and only to a command, unless the policy speaks of them."""
        login, asked, command = author.login, self.event_request, self.event_request.command
        if "outsider" in self.policy or "thread_author" in self.policy:
            return Decision(True, f"{login} has no rights here, and {self.file} may give some to outsiders.")
        if command is None:
            return Decision(False, admission.no_access(asked, login, started_by(asked.cause), self.file))
        if command.near_miss:
            return Decision(False, f"{login} has no rights here, so this comment starts nothing.")
        is_free = not command.problem and command.verb in verbs_of(Tier.OUTSIDER)
        if self._was_told_today(author.id, ANSWER if is_free else REFUSED):
            return Decision(False, f"{login} got an answer of this kind today; outsiders get one a day.")
        if is_free:
            return Decision(True, f"{login} may ask for {command.verb} once a day.")
        verb = DEFAULT if command.problem or command.verb in INSTANT else command.verb
        return Decision(False, admission.no_access(asked, login, verb, self.file), refuse=True)

    @cached_property
    def policy(self) -> str:
        """The default branch's policy file as text. It is not understood here, only looked through."""
        branch = quote(self.event_request.repository.default_branch, safe="")
        status, answer = self.api.get(f"{self.base}/contents/{quote(self.file)}?ref={branch}")
        content = answer.get("content") if status == 200 and isinstance(answer, dict) else None
        return b64decode(content).decode(errors="replace") if isinstance(content, str) else ""

    def _was_told_today(self, account: int, kind: str) -> bool:
        """Whether this account got an answer of this kind within a day. Where more was written than one page holds, it
        counts as told: a flood must not buy an answer."""
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - admission.TOLD_AGAIN_AFTER))
        newest = f"since={since}&sort=created&direction=desc&per_page={PAGE}"
        _, answer = self.api.get(f"{self.base}/issues/comments?{newest}")
        ours = (one for one in answer or () if (one.get("user") or {}).get("type") == "Bot")
        was_told = any((read_mark(str(one.get("body") or ""), kind) or {}).get("to") == str(account) for one in ours)
        return was_told or len(answer or ()) >= PAGE


class Greeting:
    """The first that the asker sees. Nothing depends on it."""

    def __init__(self, event_request: EventRequest, api: Api, environment: Mapping[str, str]) -> None:
        self.base, self.number = f"/repos/{event_request.repository.name}", event_request.number
        self.trigger, self.api, self.environment = event_request.trigger, api, environment
        self.key = markers.request_key(self.trigger.event, self.trigger.comment_id)

    def react(self, content: str) -> None:
        kind = "pulls" if self.trigger.event == REVIEW_COMMENT else "issues"
        path = f"{self.base}/{kind}/comments/{self.trigger.comment_id}/reactions"
        self.api.post(path, {"content": content})

    def answer(self, text: str, **fields: str | int) -> None:
        """Comment in the conversation."""
        body = marked(text, mark(REFUSED, request=self.key, **fields))
        self.api.post(f"{self.base}/issues/{self.number}/comments", {"body": body})

    def begin(self, *, queued: bool) -> str:
        """Write the progress comment; its id. `queued` is for a run that may have to wait for one before it."""
        text = QUEUED if queued else "**Working on it**\n\n- getting ready"
        body = self._progress(text, **markers.ON, **({"queued": "yes"} if queued else {}))
        return str(self.api.post(f"{self.base}/issues/{self.number}/comments", body)["id"])

    def fail(self, comment: str, reason: str) -> None:
        body = self._progress(f"**Failed**\n\n{reason}", **markers.OVER)
        self.api.patch(f"{self.base}/issues/comments/{comment}", body)

    def _progress(self, text: str, **fields: str) -> dict[str, str]:
        names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
        server, job, run = (self.environment.get(name, "") for name in names)
        if run:
            text, fields["run"] = f"{text}\n\n[Follow the run]({server}/{job}/actions/runs/{run})", run
        return {"body": marked(text, mark(PROGRESS, request=self.key, **fields))}


def main(environment: Mapping[str, str]) -> ExitCode:
    actions = Actions(environment, sys.stdout)
    given = environment.get
    name, payload = given("GITHUB_EVENT_NAME", ""), Path(given("GITHUB_EVENT_PATH", ""))
    replies = given("SLASH_AGENT_REPLIES") == "true"
    inputs = WorkflowInputs(*(given(word, "") for word in INPUTS), replies=replies)
    try:
        event_request = read_event(name, payload, inputs)
    except NoRequestError as error:
        return end(actions, error.reason, "no_change")
    if given("SLASH_AGENT_INSTALLED") == "false":
        return not_installed(event_request, environment, actions)
    verdict, _, comment = given("SLASH_AGENT_GATE", "").partition(" ")
    if verdict == GO:
        say(actions, "A job of this workflow looked at it already.")
        return go_on(actions, comment, gate=False)
    token = given("SLASH_AGENT_GITHUB_TOKEN", "")
    if not token:
        raise UsageError("There is no GitHub token: give the action's input github-token.")
    api = Api(given("GITHUB_API_URL", "https://api.github.com"), token)
    mode, policy, command = given("SLASH_AGENT_MODE"), policy_file(given("SLASH_AGENT_POLICY", "")), event_request.command
    gate = mode == "gate" or (mode == "follow" and event_request.cause is not Cause.FOLLOW_UP)
    try:
        decision = Check(event_request, association(payload), api, policy).decide()
    except ApiError as error:
        say(actions, f"{error}; the full check decides.")
        return go_on(actions, "", gate=gate)
    # On lines of a diff the program answers, in the thread there.
    is_here = event_request.trigger.event == ISSUE_COMMENT and given("SLASH_AGENT_PROGRESS") != "false"
    problem = ""
    if command and decision.known and is_here:
        problem = command.problem or admission.place_problem(command, event_request)
    comment = respond(event_request, decision, problem, api, environment, actions)
    if problem or not decision.go:
        return end(actions, problem or decision.reason, "refused")
    say(actions, decision.reason)
    # A verb without setup installs nothing.
    profile = VERBS[command.verb].profile if command else None
    installs = command is None or (profile is not None and profile.setup)
    if gate and installs and (commit := commit_to_prepare(event_request, api, environment)):
        actions.set_output("commit", commit)
    actions.set_output("verb", command.verb if command else "")
    return go_on(actions, comment, gate=gate)


def not_installed(event_request: EventRequest, environment: Mapping[str, str], actions: Actions) -> ExitCode:
    """Report in the progress comment, or in the note for a check, that a later step could not install the program."""
    given, again = environment.get, "start it again with `/agent retry`"
    reason = f"Slash Agent could not be installed. The log of the run has the reason; {again}."
    if comment := given("SLASH_AGENT_COMMENT"):
        api = Api(given("GITHUB_API_URL", ""), given("SLASH_AGENT_GITHUB_TOKEN", ""))
        Greeting(event_request, api, environment).fail(comment, reason)
    elif event_request.head_sha:
        actions.set_output("note", reason)
    return end(actions, reason, "failed")


def respond(
    event_request: EventRequest, decision: Decision, problem: str, api: Api, environment: Mapping[str, str],
    actions: Actions,
) -> str:  # fmt: skip
    """Answer the person who asked, with the command's `problem` if it has one. The progress comment's id, or empty."""
    # A job that is done again has said all this at its first attempt.
    if environment.get("SLASH_AGENT_DRY_RUN") == "true" or environment.get("GITHUB_RUN_ATTEMPT", "1") != "1":
        return ""
    command, trigger = event_request.command, event_request.trigger
    greeting = Greeting(event_request, api, environment)
    try:
        if decision.refuse and event_request.actor and event_request.number:
            greeting.answer(decision.reason, to=event_request.actor.id)
        unmet = command is None and event_request.cause is not Cause.REPLY and not (decision.go or decision.is_unasked)
        if unmet and event_request.head_sha:
            if environment.get("SLASH_AGENT_MODE") != "both":
                actions.set_output("note", decision.reason)
            else:
                api.post(f"{greeting.base}/check-runs", admission.unmet_check(event_request, decision.reason))
        is_off = environment.get("SLASH_AGENT_PROGRESS") == "false"
        if command is None or not (decision.go and trigger.comment_id) or is_off:
            return ""
        if problem:
            run = {"run": run_id} if (run_id := environment.get("GITHUB_RUN_ID")) else {}
            greeting.answer(problem, **run, **admission.refused_fields(event_request))
        try:
            # To people who are not known yet the program may answer, which then reacts.
            if not command.near_miss or decision.known:
                greeting.react("confused" if command.problem or problem else "eyes")
        except ApiError as error:  # on lines of a diff it takes a token that may write to pull requests
            actions.print(f"note: no reaction to the comment: {error}")
        if decision.known and not (command.problem or problem) and command.verb not in INSTANT:
            return greeting.begin(queued=environment.get("SLASH_AGENT_MODE") == "gate")
    except ApiError as error:
        actions.print(f"note: the comment could not be posted: {error}")
    return ""


def go_on(actions: Actions, comment: str, *, gate: bool) -> ExitCode:
    if comment.isdecimal():
        actions.set_output("comment", comment)
    if gate:
        actions.set_output("gate", f"{GO} {comment}".rstrip())
        actions.add_summary("**Slash Agent: queued**\n\nThe job that runs the agent comes next.")
    else:
        actions.set_output("go", "true")
    return ExitCode.DONE


def end(actions: Actions, reason: str, status: str) -> ExitCode:
    """It ends here, with the action's `status`."""
    say(actions, reason)
    actions.set_output("status", status)
    actions.set_output("go", "false")
    actions.add_summary(f"**Slash Agent: {status}**\n\n{reason}")
    return ExitCode.DONE


def say(actions: Actions, reason: str) -> None:
    actions.print(reason)
    actions.set_output("reason", " ".join(reason.split()))


def association(payload: Path) -> str:
    """GitHub's word in the payload on how the author stands to the repository."""
    data = json.loads(payload.read_bytes())
    written = data.get("comment") or data.get("review") or data.get("issue") or {}
    return str(written.get("author_association", ""))


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except AgentError as error:
        log = Actions(os.environ, sys.stderr)
        log.print(f"slash-agent: {error}")
        log.add_summary(f"**Slash Agent: failed**\n\n{error}")
        sys.exit(error.exit_code)
