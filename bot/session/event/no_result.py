"""Report an event that asked for something and ends without a result where people look for it.

A command is answered in its thread. Of an event without a command, the pull request gets a neutral check, and an issue
one comment. A job whose token writes no checks passes the reason on to the job that publishes.
"""

from __future__ import annotations

import re

from bot.contracts.errors import GateError
from bot.events.admission import unmet_check
from bot.events.event_request import EventRequest
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.providers.connect import MissingKeyError
from bot.publish.markdown import safe_plain
from bot.session.event.event_context import EventContext
from bot.session.event.progress_comment import error_text, post_answer

PASSES_ON = ("gate", "run")
"""Modes of the action whose job writes no checks."""
_MAX_REASON = 1_000


def report_no_result(context: EventContext, reason: str, *, failed: bool = False) -> None:
    """Report why nothing came of an event without a command. `failed`: by an error, which has the run's address."""
    if not context.event_request.head_sha:
        text = error_text(reason, context.where.run_url) if failed else reason
        post_answer(context, text)
    elif context.environment.get("SLASH_AGENT_MODE") in PASSES_ON:
        context.pass_on(reason)
    else:
        for note in post_check(context.host, context.event_request, reason, context.where.run_url):
            context.say(f"note: {note}")


def post_check(github: GitHub, event_request: EventRequest, reason: str, run_url: str) -> tuple[str, ...]:
    """Put a neutral check on the head of the event's pull request. Returns soft failures, a sentence each."""
    text = safe_plain(reason, _MAX_REASON) or "No reason was given."
    try:
        path = f"/repos/{event_request.repository.name}/check-runs"
        github.requester.requestJsonAndCheck("POST", path, input=unmet_check(event_request, text, run_url))
    except (GitHubError, GateError) as error:
        return (f"The check run with the reason could not be made: {error}",)
    return ()


def missing_key(error: MissingKeyError, github: GitHub, repository: str, workflow: str) -> str:
    """Return which secret is empty, and the line of `workflow` that passes it on or should."""
    variable = error.variables[0]
    action_input = f"{variable.lower().replace('_', '-')}: ${{{{ secrets.{variable} }}}}"
    line, code = _line_of(variable, _text_of(github, repository, workflow))
    file = f"`{workflow}`" if workflow else "the workflow"
    place = f"Line {line} of {file} passes it on: `{code}`."
    if not line:
        place = f"Then pass it on in {file}, under the action's `with`: `{action_input}`."
    other = "".join(f" `{name}` would do as well." for name in error.variables[1:])
    return (
        f"There is no key for a model: the secret `{variable}` is empty or not set. A maintainer can add it under "
        f"Settings, Secrets and variables, Actions.{other} {place}"
    )


def _line_of(variable: str, text: str) -> tuple[int, str]:
    """Return the number and the text of the line that passes a secret to our action or workflow; 0 for none."""
    name = re.compile(rf"\s*(?:{variable}|{variable.replace('_', '-')})\s*:", re.IGNORECASE)
    lines = text.splitlines()
    number = next((number for number, line in enumerate(lines, 1) if name.match(line)), 0)
    return number, lines[number - 1].partition(" #")[0].strip().replace("`", "") if number else ""


def _text_of(github: GitHub, repository: str, workflow: str) -> str:
    if not workflow:
        return ""
    try:
        return github.file(repository, workflow, github.repository(repository).default_branch) or ""
    except GitHubError:
        return ""  # The secret's name is known without it.
