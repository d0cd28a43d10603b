"""Route a path to its page, and collect the page's data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from slash_forge import access, checks, diffs, errors, pulls, reviews
from slash_forge.access import Caller
from slash_forge.call import Reply
from slash_forge.reviews import Anchor, Review, ReviewComment, Thread
from slash_forge.shapes.site import Site
from slash_forge.state import Comment, Issue, Pull, Repository, Role, State
from slash_forge.web.hunks import Line, lines

if TYPE_CHECKING:
    from jinja2 import Environment

_REPOSITORY = re.compile(r"/(?P<owner>[^/]+)/(?P<name>[^/]+)(?P<rest>/.*)?")
_THREAD = re.compile(r"/(?P<kind>pull|issues)/(?P<number>\d+)(?:/files)?")
_COMMIT = re.compile(r"/commit/(?P<sha>[0-9a-f]{7,40})")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}


class Pages:
    """Call it with a path and the caller. Raises `ApiError`."""

    def __init__(self, state: State, site: Site) -> None:
        self._state = state
        self._site = site

    def __call__(self, path: str, caller: Caller) -> Reply:
        path = unquote(path.partition("?")[0])
        with self._state.lock:
            if path == "/":
                visible = [one for one in self._state.repositories.values() if caller.role(one) > Role.NONE]
                return self._page("index", repositories=visible)
            match = _REPOSITORY.fullmatch(path)
            if match is None:
                raise errors.not_found()
            repo = access.visible(self._state, caller, f"{match['owner']}/{match['name']}")
            return self._in_repository(repo, (match["rest"] or "").rstrip("/"))

    def _in_repository(self, repo: Repository, rest: str) -> Reply:
        if rest in ("", "/issues", "/pulls"):
            return self._page("index", repositories=[repo])
        if match := _THREAD.fullmatch(rest):
            return self._thread(repo, int(match["number"]), match["kind"])
        if match := _COMMIT.fullmatch(rest):
            return self._commit(repo, match["sha"])
        raise errors.not_found()

    def _thread(self, repo: Repository, number: int, kind: str) -> Reply:
        issue = repo.threads.get(number)
        if issue is None:
            raise errors.not_found()
        proper = "pull" if issue.pull else "issues"
        if kind != proper:
            # As on GitHub: either path finds the thread.
            target = f"{self._site.html}/{repo.full_name}/{proper}/{number}"
            return Reply(302, b"", {"Location": target}, "text/html")
        if issue.pull is None:
            return self._page("thread", repo=repo, issue=issue, status=_status(issue))
        begin = pulls.merge_base(repo, issue.pull)
        return self._page(
            "pull",
            repo=repo,
            issue=issue,
            pull=issue.pull,
            head=_head_label(repo, issue.pull),
            status=_status(issue),
            commits=pulls.commits(repo, issue.pull),
            entries=entries(repo, issue, issue.pull),
            checks=checks.runs_on(repo, issue.pull.head_sha)[::-1],
            **_changes(repo, begin, issue.pull.head_sha),
        )

    def _commit(self, repo: Repository, sha: str) -> Reply:
        full = repo.git.resolve(sha)
        if full is None:
            raise errors.not_found()
        commit = repo.git.commit(full)
        parent = commit.parents[0] if commit.parents else diffs.empty_tree(repo.git)
        return self._page("commit", repo=repo, commit=commit, **_changes(repo, parent, full))

    def _page(self, name: str, **values: Any) -> Reply:
        html = self._environment.get_template(f"{name}.html.j2").render(**values)
        return Reply(200, html.encode(), _HEADERS, "text/html; charset=utf-8")

    @cached_property
    def _environment(self) -> Environment:
        # Loads jinja2, which only requests for pages need.
        from slash_forge.web.markup import environment

        return environment(self._site)


def _changes(repo: Repository, base: str, head: str) -> Mapping[str, Any]:
    files = diffs.changed_files(repo.git, base, head)
    return {
        "files": [(file, lines(file.patch) if file.patch else []) for file in files],
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
    }


def _head_label(repo: Repository, pull: Pull) -> str:
    return pull.head_ref if pull.head_repository is repo else f"{pull.head_owner.login}:{pull.head_ref}"


def _status(issue: Issue) -> str:
    if issue.pull and issue.pull.merged_at:
        return "Merged"
    if issue.state == "closed":
        return "Closed"
    return "Draft" if issue.pull and issue.pull.draft else "Open"


# The number of lines of a thread's hunk that are shown, the last ones, as on GitHub.
_SHOWN_LINES = 4
VERDICTS = {
    "APPROVED": "approved these changes",
    "CHANGES_REQUESTED": "requested changes",
    "COMMENTED": "reviewed",
    "DISMISSED": "reviewed, and was dismissed",
}


@dataclass(frozen=True, slots=True)
class ThreadView:
    """`anchor` None: the lines have changed, or the thread is about the whole file."""

    thread: Thread
    anchor: Anchor | None
    lines: Sequence[Line]
    comments: Sequence[ReviewComment]

    @property
    def outdated(self) -> bool:
        return self.anchor is None and not self.thread.on_file


@dataclass(frozen=True, slots=True)
class ReviewView:
    review: Review
    verdict: str
    threads: Sequence[ThreadView]


def entries(repo: Repository, issue: Issue, pull: Pull) -> list[Comment | ReviewView]:
    """Oldest first. A review that only replies in other threads is not listed."""
    started: dict[int, list[ThreadView]] = {}
    for thread in pull.threads:
        first = thread.comments[0].review
        if first.submitted_at:
            started.setdefault(first.id, []).append(_thread_view(repo, pull, thread))
    matches: list[Comment | ReviewView] = [*issue.comments]
    for review in pull.reviews:
        threads = started.get(review.id, [])
        if review.submitted_at and (review.body or threads or review.state != "COMMENTED"):
            matches.append(ReviewView(review, VERDICTS.get(review.state, "reviewed"), threads))
    return sorted(matches, key=_when)


def _thread_view(repo: Repository, pull: Pull, thread: Thread) -> ThreadView:
    rows = lines(thread.hunk)[1:][-_SHOWN_LINES:] if thread.hunk else []
    comments = [comment for comment in thread.comments if comment.review.submitted_at]
    return ThreadView(thread, reviews.current(repo, pull, thread), rows, comments)


def _when(entry: Comment | ReviewView) -> tuple[str, int]:
    if isinstance(entry, ReviewView):
        return entry.review.submitted_at or "", entry.review.id
    return entry.created_at, entry.id
