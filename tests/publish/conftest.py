"""A repository on a forge, a request under its issue, and bundles as a run would leave them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.checkout import layout
from bot.checkout.git import Git
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Thread, Tier, Trigger
from bot.github.client import GitHub, connect
from bot.github.retry import Pace
from bot.publish.bundle import Bundle, read_bundle, write_bundle
from bot.publish.context import PublishContext
from bot.publish.publish import publish
from bot.publish.remote import Remote
from bot.publish.result import PublishResult
from slash_forge.forge import Forge
from slash_forge.git import BareRepository
from tests.support.outcomes import OUTCOME, make_request

REPO = "octo/hello"
FILES = {
    "invoice.py": "def total(lines):\n    return sum(round(line) for line in lines)\n",
    "README.md": "Hello\n",
}
WRITES: dict[str, Any] = {"contents": "write", "issues": "write", "pull_requests": "write"}
_PATCHES: dict[tuple[tuple[str, str], ...], bytes] = {}
FIXED = "def total(lines):\n    return round(sum(lines))\n"


@dataclass
class World:
    """One forge with one repository, and what a test does to it."""

    forge: Forge
    folder: Path
    token: str
    base_sha: str
    issue: int
    comment_id: int
    ann: int
    said: list[str] = field(default_factory=list)
    first_sha: str = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.first_sha = self.base_sha

    def room(self, name: str) -> Path:
        """A folder that does not exist yet."""
        return self.folder / f"{name}-{next(self._numbers)}"

    def outcome(self, **fields: Any) -> Outcome:
        url = f"{self.forge.url}/{REPO}/issues/{self.issue}"
        request = make_request(
            actor=Actor("ann", self.ann, Tier.MAINTAINER),
            clone_url=self.forge.clone_url(REPO),
            thread=Thread(self.issue, "Totals are off by a cent", "", "bob", url),
            trigger=Trigger("issue_comment", self.comment_id, url, "2026-01-02T03:04:05Z"),
        )
        return OUTCOME._replace(**({"request": request, "base_sha": self.base_sha} | fields))

    def bundle(
        self, changes: Mapping[str, str] | None = None, *, patch: bytes | None = None, **fields: Any
    ) -> Bundle:
        """A bundle whose patch changes files of the base commit."""
        outcome = self.outcome(**fields)
        if patch is None:
            patch = self.patch({"invoice.py": FIXED} if changes is None else changes)
        folder = self.room("bundle")
        write_bundle(
            Bundle(folder, outcome, patch, b"", "Round totals once, at the end\n\nSummed exactly.\n")
        )
        return read_bundle(folder)

    def open(self, head: str, login: str = "ann", base: str = "main") -> int:
        """A person's pull request; `head` is a branch here, or `owner:branch` of a fork."""
        host = self.github(self.forge.token(login))
        return host.open_pull(title="Theirs", body="", head=head, base=base, draft=False).number

    def on_pull(self, number: int, **fields: Any) -> Outcome:
        """The outcome of a run on the head that this pull request has now."""
        pull = self.github().pull(number)
        self.base_sha = pull.head_sha
        url = f"{self.forge.url}/{REPO}/pull/{number}"
        comment_id, _ = self.forge.comment(REPO, number, "ann", "/agent fix the rounding")
        request = self.outcome().request._replace(
            base_ref=pull.base_ref,
            pull=pull,
            thread=Thread(number, "Theirs", "", "ann", url, is_pull_request=True),
            trigger=Trigger("issue_comment", comment_id, url, "2026-01-02T03:04:05Z"),
        )
        return self.outcome(request=request._replace(**fields))

    def patch(self, changes: Mapping[str, str]) -> bytes:
        """What git says of `changes` against the base commit."""
        if self.base_sha != self.first_sha:
            return self._diff(changes)
        # The first commit has the same files in every test.
        key = tuple(sorted(changes.items()))
        if key not in _PATCHES:
            _PATCHES[key] = self._diff(changes)
        return _PATCHES[key]

    def _diff(self, changes: Mapping[str, str]) -> bytes:
        git_dir = self.room("git")
        layout.make_git_dir(git_dir, bare=True, object_format="sha1", attributes=layout.READABLE_ATTRIBUTES)
        git = Git(git_dir)
        served = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.forge.git_folder(REPO) / "objects")}
        index = git_dir / "index"
        git.run("read-tree", self.base_sha, index=index, env=served)
        for path, text in changes.items():
            blob = git.run("hash-object", "-w", "--stdin", input=text.encode()).decode().strip()
            git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", index=index, env=served)
        return git.run("diff-index", "--cached", "-p", "--binary", self.base_sha, index=index, env=served)

    def github(self, token: str | None = None) -> GitHub:
        pace = Pace(between_writes=0, sleep=lambda seconds: None)
        return connect(self.token if token is None else token, self.forge.api_url, REPO, pace=pace)

    def publish(
        self,
        bundle: Bundle,
        *,
        token: str | None = None,
        github: GitHub | None = None,
        dry_run: bool = False,
        repository: str = "",
        **options: Any,
    ) -> PublishResult:
        used = self.token if token is None else token
        client = github or self.github(used)
        context = PublishContext(
            bundle=bundle,
            github=client.dry(self.said.append) if dry_run else client,
            remote=Remote(self.room("publish"), self.forge.clone_url(REPO), used),
            say=self.said.append,
            **options,
        )
        return publish(context, repository)

    def app_token(self) -> str:
        """One of an App of our own: what it pushes starts workflows."""
        self.forge.add_user("our-app[bot]", kind="Bot")
        return self.forge.token("our-app[bot]", WRITES, repo=REPO)

    # Looking at what is there now

    def api(self, path: str) -> Any:
        _, data = self.github().requester.requestJsonAndCheck("GET", f"/repos/{REPO}{path}")
        return data

    def pulls(self) -> list[dict[str, Any]]:
        return list(self.api("/pulls?state=all"))

    def comments(self, number: int = 0) -> list[str]:
        return [comment["body"] for comment in self.api(f"/issues/{number or self.issue}/comments")]

    def branches(self, repo: str = REPO) -> dict[str, str]:
        tips = BareRepository(self.forge.git_folder(repo)).branches()
        return {name.removeprefix("refs/heads/"): sha for name, sha in tips.items()}

    def show(self, sha: str, path: str) -> str:
        return Git(self.forge.git_folder(REPO)).run("cat-file", "blob", f"{sha}:{path}").decode()

    def commit(self, sha: str) -> str:
        return Git(self.forge.git_folder(REPO)).run("cat-file", "commit", sha).decode()

    def writes(self) -> list[str]:
        """Every API request so far that was not a question, and every push."""
        return [
            f"{exchange.method} {exchange.path}"
            for exchange in self.forge.requests
            if exchange.method not in ("GET", "HEAD")
            and "git-upload-pack" not in exchange.path
            and not exchange.path.endswith("/graphql")
        ]


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    with Forge() as forge:
        forge.add_user("octo")
        ann = forge.add_user("ann")
        forge.add_user("bob")
        forge.create_repository("octo", "hello")
        forge.commit(REPO, FILES)
        forge.grant(REPO, "ann", "write")
        issue = forge.create_issue(REPO, "bob", "Totals are off by a cent")
        comment_id, _ = forge.comment(REPO, issue, "ann", "/agent fix the rounding of totals")
        token = forge.token(permissions=WRITES, repo=REPO)
        base_sha = forge.branch_sha(REPO)
        assert base_sha is not None
        yield World(forge, folder, token, base_sha, issue, comment_id, ann)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as made:
        yield made
