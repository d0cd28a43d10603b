"""What a GitHub App may do where it is to act: in the workflow's repository, and in those of a maintenance list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.contracts.errors import AgentError, UsageError
from bot.doctor.finding import Finding, State
from bot.github.app import Installation
from bot.github.errors import GitHubError

Look = Callable[[str], Installation]
"""How the app is installed on a repository. Raises an `AgentError` where it is not, or cannot sign in."""

# What each job cannot do without, and what is missed where it is not there.
_NEEDED = {"contents": "write", "issues": "write", "pull_requests": "write"}
_WANTED_OF_A_LIST = {"actions": "read"}
_WANTED = {"actions": "write", "checks": "write", "statuses": "read"}
_FOR = {
    "actions": "`stop`, logs, bundles, runs a day",
    "checks": "failed checks, annotations",
    "statuses": "what services outside Actions say",
}
_RANK = {"read": 1, "write": 2, "admin": 3}
_GRANT = "grant it on the app's settings page, under Permissions; then accept it where the app is installed"
_INSTALL = (
    "install the app there, or let the job's own token act: it needs no app in the workflow's own repository"
)


def look_at_app(own: str, listed: Sequence[str], look: Look) -> list[Finding]:
    """`own` is the workflow's repository; `listed` those that it looks after, it among them or not."""
    repositories = dict.fromkeys([*([own] if own and not listed else []), *listed])
    fine: list[str] = []
    found: list[Finding] = []
    for repository in repositories:
        name, its_own = f"app on {repository}", repository.lower() == own.lower()
        wanted = _WANTED if its_own else _WANTED_OF_A_LIST
        try:
            granted = look(repository).permissions
        except AgentError as error:
            if isinstance(error, UsageError) or (isinstance(error, GitHubError) and error.status == 401):
                # Id or key are wrong: it is the same for all others.
                return [Finding("app", State.MISSING, str(error))]
            found.append(Finding(name, State.MISSING, str(error)))
            continue
        if lacking := _lacking(granted, _NEEDED):
            said = f"The app may not do its work: it lacks {', '.join(lacking)}."
            found.append(Finding(name, State.MISSING, said, _GRANT))
        elif lacking := _lacking(granted, wanted):
            said = f"The app does without {', '.join(lacking)}."
            found.append(Finding(name, State.WARNING, said, _GRANT))
        else:
            fine.append(repository)
    if fine:
        where = fine[0] if len(fine) == 1 else f"{len(fine)} repositories"
        found.insert(0, Finding("app", State.OK, f"The app has all permissions that it needs in {where}."))
    return found


def without_app(own: str, listed: Sequence[str]) -> list[Finding]:
    """A list needs an app as soon as another repository than the workflow's own is in it."""
    others = [repository for repository in listed if repository.lower() != own.lower()]
    if not others:
        return []
    said = f"{others[0]} is out of reach of the workflow's own token" + (
        f", and {len(others) - 1} more." if others[1:] else "."
    )
    fix = "set SLASH_AGENT_APP_ID and SLASH_AGENT_APP_PRIVATE_KEY of a GitHub App that is installed there"
    return [Finding("app", State.MISSING, said, fix)]


def _lacking(granted: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    lacking = []
    for name, access in wanted.items():
        if _RANK.get(granted.get(name, ""), 0) < _RANK[access]:
            what = f" ({_FOR[name]})" if name in _FOR else ""
            lacking.append(f"`{name.replace('_', ' ')}: {access}`{what}")
    return lacking
