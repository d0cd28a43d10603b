"""Read a repository: its data, permissions, settings, files, branches and commits; and create git objects in it."""

import base64
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, NamedTuple
from urllib.parse import quote

from github.ContentFile import ContentFile
from github.GitCommit import GitCommit
from github.GitTree import GitTree
from github.InputGitTreeElement import InputGitTreeElement

from bot.github.errors import HIDDEN
from bot.github.transport import PAGE, ApiPart
from bot.github.values import Permission, RepositoryData


class BranchDemands(NamedTuple):
    """`checks` are the names of required checks. `signed`: commits must be signed; `None` if that is unknown."""

    checks: tuple[str, ...]
    signed: bool | None


class Repositories(ApiPart):
    @cached_property
    def repository(self) -> RepositoryData:
        """Requested once. Assign the data of an event's payload, which saves the request."""
        with self.requester.known_shape():
            data = self.source.complete()
            return RepositoryData(
                name=data.full_name,
                default_branch=data.default_branch,
                private=data.private,
                clone_url=data.clone_url,
                read_only="archived" if data.archived else "disabled" if data.disabled else "",
            )

    def current_name(self) -> str:
        """Return the current name, requested each time: it may have been renamed or transferred."""
        # Completed, since PyGithub takes the name of a lazy one from the address.
        return self._parsed(lambda: self.source.complete().full_name)

    def permission(self, login: str) -> Permission:
        """Level `none` and id 0 for an unknown account. Two requests, three for a stranger on a public repository."""
        private = self.repository.private
        # By hand: PyGithub's methods return the level or the role, and leave out the account's id.
        path = f"{self.root}/collaborators/{quote(login, safe='')}/permission"

        def parse(data: Any) -> tuple[str, str, int, str]:
            level, user = str(data["permission"]), data.get("user") or {}
            role = str(data.get("role_name") or level)
            return level, role, int(user.get("id") or 0), str(user.get("type") or "")

        answer = self._parsed_or_none(partial(self._get, path, parse)) or ("none", "", 0, "")
        level, role, user_id, kind = answer
        is_listed = level != "none"
        if not private and level == role == "read":
            # 404: not listed. 403: a token without push access may not know, and then nobody is.
            listed = partial(self.source.has_in_collaborators, login)
            is_listed = self._parsed_or_none(listed, HIDDEN) or False
        return Permission(level, user_id, kind, private, role, is_listed)

    def file(self, path: str, ref: str) -> str | None:
        """Return the text of a file at `ref`; `None` if there is none."""
        read = self.source.get_contents
        return self._parsed_or_none(lambda: _text(read(path, ref=ref)))

    def folder(self, path: str, ref: str) -> list[str]:
        """Return the names of the files in a folder at `ref`, at most 1,000; none if there is no such folder."""
        read = self.source.get_contents
        return self._parsed_or_none(lambda: _files(read(path, ref=ref))) or []

    def subjects(self, ref: str) -> list[str]:
        """Return the first lines of the newest commits of `ref`, at most 100, without those of merges."""
        path = f"{self.root}/commits"

        def parse(data: Any) -> list[str]:
            return [
                str(one["commit"]["message"]).partition("\n")[0] for one in data if len(one["parents"]) < 2
            ]

        return self._get(path, parse, sha=ref, per_page=PAGE)

    def contains(self, branch: str, sha: str) -> bool:
        """Whether the commit `sha` is the head of `branch` or an ancestor of it."""
        compared = self.source.compare(sha, branch, comparison_commits_per_page=1)
        return self._parsed_or_none(lambda: compared.status) in ("identical", "ahead")

    def merge_base(self, base: str, head: str) -> str:
        """Return the merge base of two commits or branches; empty if they have none, or one of them does not exist."""
        compared = self.source.compare(base, head, comparison_commits_per_page=1)
        return self._parsed_or_none(lambda: compared.merge_base_commit.sha) or ""

    # Create objects without a ref. Except for commits, the same content gives the same object.

    def create_blob(self, content: bytes) -> str:
        """Returns its id."""
        text = base64.b64encode(content).decode()
        return self._parsed(lambda: self.source.create_git_blob(text, "base64").sha)

    def create_tree(self, base_tree: str, entries: list[InputGitTreeElement]) -> str:
        """Create a tree from `base_tree` with `entries` replaced. Returns its id."""
        return self._parsed(lambda: self.source.create_git_tree(entries, self._tree(base_tree)).sha)

    def create_commit(self, *, message: str, tree: str, parents: Iterable[str]) -> str:
        """Create a commit by the token's account, dated now. Returns its id."""
        create = self.source.create_git_commit
        commits = [GitCommit(self.requester, {}, {"sha": parent}) for parent in parents]
        return self._parsed(lambda: create(message, self._tree(tree), commits).sha)

    def _tree(self, sha: str) -> GitTree:
        return GitTree(self.requester, {}, {"sha": sha})

    # Settings; `None` if the token may not read one. Most need an administrator.

    def actions_settings(self) -> tuple[bool, bool] | None:
        """Whether Actions is on, and "Allow GitHub Actions to create and approve pull requests"."""
        path = f"{self.root}/actions/permissions"
        return self._parsed_or_none(
            lambda: (
                self._get(path, lambda data: bool(data["enabled"])),
                self._get(f"{path}/workflow", lambda data: bool(data["can_approve_pull_request_reviews"])),
            ),
            HIDDEN,
        )

    def branch_rules(self, branch: str) -> list[tuple[str, dict[str, Any]]]:
        """Return type and parameters of the rules for a branch of that name, which need not exist."""
        path = f"{self.root}/rules/branches/{quote(branch, safe='')}"
        return self._get(
            path, lambda data: [(str(one["type"]), dict(one.get("parameters") or {})) for one in data]
        )

    def branch_demands(self, branch: str) -> BranchDemands:
        """What rulesets and the branch's protection demand of a merge; only an administrator may read some of it."""
        rules = self.branch_rules(branch)
        of_rules = [
            str(check["context"])
            for kind, parameters in rules
            if kind == "required_status_checks"
            for check in parameters.get("required_status_checks", ())
        ]
        path = f"{self.root}/branches/{quote(branch, safe='')}"
        protection = self._get(path, lambda data: dict((data["protected"] and data.get("protection")) or {}))
        of_branch = (protection.get("required_status_checks") or {}).get("contexts", ())
        signed: bool | None = any(kind == "required_signatures" for kind, _ in rules)
        if not signed and protection.get("enabled"):
            signatures = f"{path}/protection/required_signatures"
            read = partial(self._get, signatures, lambda data: bool(data["enabled"]))
            signed = self._parsed_or_none(read, HIDDEN)
        return BranchDemands(tuple(dict.fromkeys([*of_rules, *map(str, of_branch)])), signed)

    def rulesets(self) -> list[tuple[str, str]]:
        """Return target and name of each active ruleset, those of the organisation among them."""
        return self._get(
            f"{self.root}/rulesets?includes_parents=true",
            lambda data: [
                (str(one.get("target")), str(one["name"])) for one in data if one["enforcement"] == "active"
            ],
        )

    def secret_names(self) -> list[str] | None:
        """Names of the repository's own secrets; GitHub never gives a value."""
        secrets = self.source.get_secrets
        return self._parsed_or_none(lambda: list(self._each(secrets(), lambda secret: secret.name)), HIDDEN)

    def permissions(self) -> dict[str, bool]:
        """Return the token's permissions (`push`, `pull`, `admin` …); empty if GitHub does not report them."""
        return self._parsed(lambda: dict(self.source.raw_data.get("permissions") or {}))


def _text(content: ContentFile | list[ContentFile]) -> str | None:
    """`None` for a folder (a list), a link and a submodule."""
    if isinstance(content, list) or content.type != "file":
        return None
    return base64.b64decode(content.content or "").decode(errors="replace")


def _files(content: ContentFile | list[ContentFile]) -> list[str]:
    """Return `[]` for a file: it is an object and not a list."""
    return [entry.name for entry in content if entry.type == "file"] if isinstance(content, list) else []
