"""What GitHub says: the token and its kind, the repository, the settings that stop a pull request, the rules for our
branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from bot.contracts.errors import AgentError
from bot.contracts.threads import RepositoryData
from bot.doctor.finding import Finding, State
from bot.github.errors import ACTIONS_SETTING
from bot.github.settings import ActionsSettings
from bot.github.tokens import TokenKind, token_facts
from bot.github.values import Account
from bot.publish.remote import PREFIX

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
_FORBIDS = {"creation": "no branch may be made", "update": "no branch may be pushed to"}
_MAY_FORBID = {
    "branch_name_pattern": "names of branches",
    "commit_message_pattern": "commit messages",
    "commit_author_email_pattern": "authors' addresses",
    "committer_email_pattern": "committers' addresses",
}
_RUNS_ALL = (
    "Any file of a change is then run by your CI before a review; with `pull_request: {ci: wait}` in the policy the "
    "runs wait for approval."
)
_WIDE = (TokenKind.CLASSIC, TokenKind.OAUTH)


class SettingsHost(Protocol):
    """What the doctor asks of GitHub. See `bot.github.client.GitHub` for each method."""

    def me(self) -> Account | None: ...
    def repository(self, repository: str) -> RepositoryData: ...
    def permissions(self, repository: str) -> dict[str, bool]: ...
    def actions_settings(self, repository: str) -> ActionsSettings | None: ...
    def branch_rules(self, repository: str, branch: str) -> list[str]: ...
    def secret_names(self, repository: str) -> list[str] | None: ...
    def file(self, repository: str, path: str, ref: str) -> str | None: ...


def look_there(repository: str, host: SettingsHost, token: str) -> list[Finding]:
    """Where the repository itself cannot be read, that is the one finding. `token` is only looked at for its kind."""
    try:
        data = host.repository(repository)
    except AgentError as error:
        fix = "check the name, and that the token is not expired and may read the repository"
        return [Finding("repository", State.MISSING, str(error), fix)]
    looks: dict[str, Callable[[str, SettingsHost], Finding]] = {
        "token": _token,
        "token's kind": lambda _, asked: _kind(token, asked),
        "Actions": _actions,
        "branch rules": _rules,
        "secrets": _secrets,
    }
    found = [Finding("repository", State.OK, f"{data.name}, default branch {data.default_branch}.")]
    for name, look in looks.items():
        try:
            found.append(look(repository, host))
        except AgentError as error:
            found.append(Finding(name, State.UNKNOWN, str(error)))
    return found


def _token(repository: str, host: SettingsHost) -> Finding:
    may = host.permissions(repository)
    if not may:
        return Finding(
            "token", State.UNKNOWN, "GitHub does not say what this token may; in Actions the workflow does."
        )
    if may.get("push"):
        return Finding("token", State.OK, "The token may push.")
    said = "The token may read and not push: enough for `run`, not for `publish`."
    return Finding(
        "token", State.WARNING, said, "give `publish` a token with contents and pull-requests: write"
    )


def _kind(token: str, host: SettingsHost) -> Finding:
    """What kind it is, and what follows: whether GitHub starts workflows for what is pushed with it."""
    name, me = "token's kind", host.me()
    facts = token_facts(token, login=me.login if me else "")
    if facts.starts_workflows is False:
        fix = "give the action app-id and app-private-key, or name workflows to start under `dispatch` in the policy"
        return Finding(name, State.WARNING, facts.sentence, fix)
    if facts.starts_workflows is None:
        return Finding(name, State.UNKNOWN, facts.sentence)
    if facts.kind in _WIDE:
        said = f"{facts.sentence} It reaches every repository of its owner. {_RUNS_ALL}"
        return Finding(
            name, State.WARNING, said, "take a fine-grained token for this repository, or a GitHub App"
        )
    return Finding(name, State.OK, f"{facts.sentence} {_RUNS_ALL}")


def _actions(repository: str, host: SettingsHost) -> Finding:
    name, settings = "Actions", host.actions_settings(repository)
    if settings is None:
        return Finding(
            name, State.UNKNOWN, f'Only an administrator\'s token may look whether "{ACTIONS_SETTING}" is on.'
        )
    if not settings.enabled:
        return Finding(
            name, State.MISSING, "Actions is off for this repository.", "Settings, Actions, General"
        )
    if not settings.may_open_pulls:
        fix = f'turn on "{ACTIONS_SETTING}" under Settings, Actions, General (of the organisation, if it is greyed out)'
        return Finding(name, State.MISSING, "Actions may not open pull requests here.", fix)
    return Finding(name, State.OK, "Actions is on and may open pull requests.")


def _rules(repository: str, host: SettingsHost) -> Finding:
    name = "branch rules"
    rules = host.branch_rules(repository, f"{PREFIX}doctor")
    barred = [why for rule in rules if (why := _FORBIDS.get(rule))]
    if barred:
        fix = f"let the rule set except branches named {PREFIX}**, or let the token's account pass it"
        return Finding(name, State.MISSING, f"For {PREFIX}... a rule says: {', '.join(barred)}.", fix)
    if "required_signatures" in rules:
        said = f"Commits on {PREFIX}... must be signed."
        return Finding(name, State.WARNING, said, "set `pull_request: { signed: true }` in the policy")
    narrow = [what for rule, what in _MAY_FORBID.items() if rule in rules]
    if narrow:
        fix = f"see that the pattern takes {PREFIX}... and the policy's `identity`, or except those branches"
        return Finding(name, State.WARNING, f"A rule sets a pattern for {' and '.join(narrow)}.", fix)
    return Finding(name, State.OK, f"No rule stops branches named {PREFIX}...")


def _secrets(repository: str, host: SettingsHost) -> Finding:
    name = "secrets"
    names = host.secret_names(repository)
    if names is None:
        return Finding(
            name, State.UNKNOWN, "Only an administrator's token may look for the names of secrets."
        )
    there: Sequence[str] = [key for key in KEYS if key in names]
    if there:
        return Finding(name, State.OK, f"There is {' and '.join(there)}.")
    said = f"The repository has no secret named {' or '.join(KEYS)}; the organisation may have."
    return Finding(name, State.WARNING, said, "Settings, Secrets and variables, Actions")
