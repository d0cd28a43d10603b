"""What a repository's settings let the bot do: Actions, branch rules, names of secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.github.border import Border
from bot.github.errors import GitHubError


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """`may_open_pulls` is the setting "Allow GitHub Actions to create and approve pull requests"."""

    enabled: bool
    may_open_pulls: bool


class Settings(Border):
    """`None` is what the token may not ask: most of this is for administrators."""

    def actions_settings(self, repository: str) -> ActionsSettings | None:
        path = f"/repos/{repository}/actions/permissions"
        doing = f"reading the Actions settings of {repository}"
        try:
            enabled = self._one(doing, path, lambda data: bool(data["enabled"]))
            opens = self._one(
                doing, f"{path}/workflow", lambda data: bool(data["can_approve_pull_request_reviews"])
            )
        except GitHubError as error:
            _refused_to_say(error)
            return None
        return ActionsSettings(enabled, opens)

    def branch_rules(self, repository: str, branch: str) -> list[str]:
        """The types of the rules that hold for a branch of that name, there or not."""
        path = f"/repos/{repository}/rules/branches/{quote(branch, safe='')}"
        doing = f"reading the rules of {repository} for {branch}"
        return self._one(doing, path, lambda data: [str(rule["type"]) for rule in data])

    def secret_names(self, repository: str) -> list[str] | None:
        """Names of the repository's own secrets; GitHub never gives a value."""
        path = f"/repos/{repository}/actions/secrets?per_page=100"
        doing = f"reading the names of the secrets of {repository}"
        try:
            return self._one(doing, path, lambda data: [str(secret["name"]) for secret in data["secrets"]])
        except GitHubError as error:
            _refused_to_say(error)
            return None

    def permissions(self, repository: str) -> dict[str, bool]:
        """What the token may on the repository (`push`, `pull`, `admin` …); empty where GitHub does not say."""
        doing = f"reading what the token may on {repository}"

        def parse(data: Any) -> dict[str, bool]:
            return {str(name): bool(value) for name, value in (data.get("permissions") or {}).items()}

        return self._one(doing, f"/repos/{repository}", parse)


def _refused_to_say(error: GitHubError) -> None:
    """GitHub hides with a 404 what a token may not see. Anything else is trouble, and raised again."""
    if error.status not in (403, 404):
        raise error
