"""The action's first step: may this go on? Before anything is installed, in about a tenth of a second.

Usage: first.py, in a step with the event's environment and a token in SLASH_AGENT_GITHUB_TOKEN. Standard library
and our own standard-library modules only. It says `go` and `reason` as outputs of the step, and where it goes on for
somebody who asked in a comment, they get an answer at once: a reaction, and for a maintainer the progress comment,
whose id is the output `comment`.

It lets nobody in: everything is checked again, with the whole policy, by the program that is then installed. It only
keeps out who would be refused there. Where it cannot tell, it lets that check decide.

At most three API calls where it is silent, four where it refuses, four where it goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bot.contracts.errors import AgentError, ExitCode, UsageError  # noqa: E402
from bot.contracts.request import Verb  # noqa: E402
from bot.github.actions import Actions  # noqa: E402
from bot.intake.answers import Ignored  # noqa: E402
from bot.intake.asked import Asked, Cause, Given, recognise  # noqa: E402
from bot.intake.event import REVIEW_COMMENT, read_event  # noqa: E402
from bot.intake.payload import Account  # noqa: E402
from bot.publish.markers import PROGRESS, REFUSED, mark, marked, request_key, told_to  # noqa: E402

POLICY = ".github/agent.yml"
# What is off until the policy has such a key.
CONFIGURED = {Cause.LABEL: "labels", Cause.ASSIGNMENT: "assignee"}
FOR_EVERYBODY = (Verb.HELP, Verb.STATUS)
INSTANT = (Verb.HELP, Verb.STATUS, Verb.STOP)
# What GitHub says of people who surely are on a repository's list, and of no stranger. Only the order of the
# questions depends on it.
INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")
A_DAY = 86_400
PAGE = 100
TIMEOUT = 10


@dataclass(frozen=True)
class Decision:
    """`known` is true for somebody whom the API called a maintainer; `refuse` where they are to be told."""

    go: bool
    reason: str
    known: bool = False
    refuse: bool = False


class ApiError(Exception):
    """GitHub did not answer what was asked."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """No redirect is followed: urllib would carry the token to whatever host it names."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """GitHub by its address and a token. `calls` counts what was sent."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_Stay)
        self.calls = 0

    def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON; 404 is an answer, every other failure an `ApiError`."""
        return self._send("GET", path, None)

    def post(self, path: str, data: Mapping[str, str]) -> Any:
        return self._send("POST", path, json.dumps(data).encode())[1]

    def _send(self, method: str, path: str, data: bytes | None) -> tuple[int, Any]:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": "slash-agent",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self.calls += 1
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)  # noqa: S310  # the API
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                body = answer.read()
                return answer.status, json.loads(body) if body else None
        except urllib.error.HTTPError as error:
            if error.code == 404 and method == "GET":
                return 404, None
            raise ApiError(f"GitHub answered {error.code} to {method} {path.partition('?')[0]}") from error
        except (OSError, ValueError) as error:
            raise ApiError(f"GitHub did not answer {method} {path.partition('?')[0]}: {error}") from error


def decide(asked: Asked, association: str, api: Api) -> Decision:
    """Whether it is worth going on: what intake would refuse is refused here."""
    base, branch = f"/repos/{asked.repository.name}", asked.repository.default_branch
    if asked.cause in CONFIGURED:
        key = CONFIGURED[asked.cause]
        there = key in policy_text(api, base, branch)
        return Decision(there, f"{POLICY} has {'' if there else 'no '}`{key}`.")
    if asked.cause is not Cause.COMMAND or asked.tier is not None:
        return Decision(True, f"The event `{asked.trigger.event}` is looked at.")
    author, sender = asked.asker, asked.sender
    if author is None:
        return Decision(False, "Whoever wrote the command is a deleted account.")
    if sender is not None and sender.id != author.id:
        return Decision(False, f"{sender.login} sent this event, but {author.login} wrote the command.")
    if author.kind == "Bot" or author.login.endswith("[bot]"):
        listed = str(author.id) in policy_text(api, base, branch)
        return Decision(listed, f"{author.login} is a bot, and {POLICY} {'names' if listed else 'does not list'} it.")
    login, verb = quote(author.login, safe=""), asked.command.verb if asked.command else None
    if association not in INSIDERS and not asked.repository.private:
        status, _ = api.get(f"{base}/collaborators/{login}")
        if status == 404:
            return stranger(author, verb, api, base, branch)
    status, answer = api.get(f"{base}/collaborators/{login}/permission")
    user = (answer or {}).get("user") or {}
    if status == 404 or user.get("id") != author.id:
        return Decision(False, f"GitHub does not know {author.login} as account {author.id}.")
    if answer.get("permission") in ("admin", "maintain", "write"):
        return Decision(True, f"{author.login} may write here.", known=True)
    if answer.get("permission") == "none":
        return stranger(author, verb, api, base, branch)
    return Decision(True, f"{author.login} may read here; what else, the policy says.")


def stranger(author: Account, verb: Verb | None, api: Api, base: str, branch: str) -> Decision:
    """Somebody without any right: one word a day, unless the policy speaks of outsiders."""
    login, policy = author.login, policy_text(api, base, branch)
    if "outsider" in policy or "thread_author" in policy:
        return Decision(True, f"{login} has no right here, and {POLICY} speaks of such people.")
    told = told_today(api, base, author.id)
    silent = " They were told today." if told else ""
    if verb in FOR_EVERYBODY and not told:
        return Decision(True, f"{login} may ask for {verb} once a day.")
    return Decision(False, f"{login} may not give commands here: that takes write permission.{silent}", refuse=not told)


def policy_text(api: Api, base: str, branch: str) -> str:
    """The default branch's policy file as text. It is not understood here, only looked through."""
    status, answer = api.get(f"{base}/contents/{POLICY}?ref={quote(branch, safe='')}")
    content = answer.get("content") if status == 200 and isinstance(answer, dict) else None
    return b64decode(content).decode(errors="replace") if isinstance(content, str) else ""


def told_today(api: Api, base: str, account: int) -> bool:
    """Whether this account was told within a day. Where more was written than one page holds, it counts as told:
    a flood must not buy an answer."""
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - A_DAY))
    _, found = api.get(f"{base}/issues/comments?since={since}&sort=created&direction=desc&per_page={PAGE}")
    comments = found or []
    told = any(
        (comment.get("user") or {}).get("type") == "Bot"
        and told_to(comment.get("body") or "") == str(account)
        for comment in comments
    )
    return told or len(comments) >= PAGE


def greet(asked: Asked, api: Api, environment: Mapping[str, str], actions: Actions, *, progress: bool) -> None:
    """The first that the asker sees. Nothing depends on it."""
    base, trigger = f"/repos/{asked.repository.name}", asked.trigger
    if not trigger.comment_id:
        return
    try:
        kind = "pulls" if trigger.event == REVIEW_COMMENT else "issues"
        api.post(f"{base}/{kind}/comments/{trigger.comment_id}/reactions", {"content": "eyes"})
    except ApiError as error:
        # On lines of a diff it takes a token that may write to pull requests.
        actions.print(f"note: no reaction to the comment: {error}")
    if not progress:
        return
    run = environment.get("GITHUB_RUN_ID", "")
    page = f"{environment.get('GITHUB_SERVER_URL', '')}/{environment.get('GITHUB_REPOSITORY', '')}/actions/runs/{run}"
    link = f"\n\n[Follow the run]({page})" if run else ""
    key = request_key(trigger.event, trigger.comment_id)
    written = mark(PROGRESS, request=key, state="on", **({"run": run} if run else {}))
    body = marked(f"**Working on it**\n\n- getting ready{link}", written)
    made = api.post(f"{base}/issues/{asked.number}/comments", {"body": body})
    actions.set_output("comment", str(made["id"]))


def main(environment: Mapping[str, str]) -> ExitCode:
    actions = Actions(environment, sys.stdout)
    name, payload = environment.get("GITHUB_EVENT_NAME", ""), Path(environment.get("GITHUB_EVENT_PATH", ""))
    asked = recognise(read_event(name, payload), given(environment))
    if isinstance(asked, Ignored):
        return say(actions, Decision(False, asked.reason), "no_change")
    token = environment.get("SLASH_AGENT_GITHUB_TOKEN", "")
    if not token:
        raise UsageError("There is no GitHub token: give the action's input github-token.")
    api = Api(environment.get("GITHUB_API_URL", "https://api.github.com"), token)
    try:
        decision = decide(asked, association(payload), api)
    except ApiError as error:
        return say(actions, Decision(True, f"{error}; the full check decides."))
    say(actions, decision)
    command = asked.command
    actions.set_output("verb", command.verb.value if command and decision.go else "")
    # A job that is done again has said all this at its first attempt.
    if environment.get("SLASH_AGENT_DRY_RUN") == "true" or environment.get("GITHUB_RUN_ATTEMPT", "1") != "1":
        return ExitCode.DONE
    try:
        if decision.refuse and asked.asker:
            key = request_key(asked.trigger.event, asked.trigger.comment_id)
            told = mark(REFUSED, request=key, to=asked.asker.id)
            comments = f"/repos/{asked.repository.name}/issues/{asked.number}/comments"
            api.post(comments, {"body": marked(decision.reason, told)})
        elif command and decision.go and environment.get("SLASH_AGENT_PROGRESS") != "false":
            long_run = decision.known and not command.problem and command.verb not in INSTANT
            greet(asked, api, environment, actions, progress=long_run)
    except ApiError as error:
        actions.print(f"note: the thread could not be told: {error}")
    return ExitCode.DONE


def given(environment: Mapping[str, str]) -> Given:
    return Given(
        environment.get("GITHUB_REPOSITORY", ""),
        environment.get("SLASH_AGENT_INSTRUCTION", ""),
        environment.get("SLASH_AGENT_TASK", ""),
    )


def association(payload: Path) -> str:
    """GitHub's word in the payload on how the author stands to the repository."""
    data = json.loads(payload.read_bytes())
    written = data.get("comment") or data.get("review") or data.get("issue") or {}
    return str(written.get("author_association", ""))


def say(actions: Actions, decision: Decision, otherwise: str = "refused") -> ExitCode:
    """`otherwise` is the action's status where it ends here."""
    actions.print(decision.reason)
    if not decision.go:
        actions.set_output("status", otherwise)
        actions.add_summary(f"**Slash Agent: {otherwise}**\n\n{decision.reason}")
    actions.set_output("go", "true" if decision.go else "false")
    actions.set_output("reason", " ".join(decision.reason.split()))
    return ExitCode.DONE


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except AgentError as error:
        Actions(os.environ, sys.stderr).print(f"slash-agent: {error}")
        sys.exit(error.exit_code)
