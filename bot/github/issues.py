"""Issues as a keeper of the repository sees them: lists, new ones, labels, closing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from bot.contracts.threads import IssueData
from bot.github.bodies import fit, fit_title
from bot.github.border import Border, nothing, with_query
from bot.github.errors import GitHubError
from bot.github.threads import issue_data


class Issues(Border):
    """Pull requests count among issues here, as GitHub has it: `is_pull_request` tells."""

    def issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = (), creator: str = ""
    ) -> Iterator[IssueData]:
        """Newest first. `labels`: those that have all of them. `creator` is a login, an app's with `[bot]`."""
        path = with_query(
            f"/repos/{repository}/issues", state=state, labels=",".join(labels), creator=creator
        )
        return self._all(f"listing the issues of {repository}", path, issue_data)

    def quietest_issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = ()
    ) -> Iterator[IssueData]:
        """Those first on which nothing has happened for the longest time."""
        path = with_query(
            f"/repos/{repository}/issues",
            state=state, labels=",".join(labels), sort="updated", direction="asc",
        )  # fmt: skip
        return self._all(f"listing the issues of {repository}", path, issue_data)

    def create_issue(
        self, repository: str, *, title: str, body: str, labels: Sequence[str] = ()
    ) -> IssueData:
        fields = {"title": fit_title(title), "body": fit(body), "labels": list(labels)}
        doing = f"opening an issue in {repository}"
        return self._send(doing, "POST", f"/repos/{repository}/issues", fields, issue_data, safe=False)

    def edit_issue(
        self, repository: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        """What is `None` stays as it is."""
        fields = {}
        if title is not None:
            fields["title"] = fit_title(title)
        if body is not None:
            fields["body"] = fit(body)
        self._edit(f"editing issue {number} of {repository}", repository, number, fields)

    def close_issue(self, repository: str, number: int, reason: str = "completed") -> None:
        """`reason` is `completed` or `not_planned`. A pull request's number closes the pull request."""
        fields = {"state": "closed", "state_reason": reason}
        self._edit(f"closing issue {number} of {repository}", repository, number, fields)

    def add_labels(self, repository: str, number: int, labels: Sequence[str]) -> None:
        """Labels that the repository does not have yet are made by GitHub."""
        doing = f"labelling issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/labels"
        self._send(doing, "POST", path, {"labels": list(labels)}, nothing, safe=True)

    def remove_label(self, repository: str, number: int, label: str) -> None:
        """Also when it was not there."""
        doing = f"taking the label {label} off issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/labels/{quote(label, safe='')}"
        try:
            self._send(doing, "DELETE", path, None, nothing, safe=True)
        except GitHubError as error:
            if error.status != 404:
                raise

    def _edit(self, doing: str, repository: str, number: int, fields: dict[str, str]) -> None:
        self._send(doing, "PATCH", f"/repos/{repository}/issues/{number}", fields, nothing, safe=True)
