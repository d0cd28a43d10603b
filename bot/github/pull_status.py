"""The status of a pull request in one query: whether it can be merged, its commits, checks, reviews and threads; and
what moves it on without a commit.
"""

from functools import partial
from typing import Any, NamedTuple

from bot.github.accounts import graphql_account
from bot.github.transport import ApiPart
from bot.github.values import Account

_ACTOR = "{ __typename login ... on User { databaseId } ... on Bot { databaseId } }"
_RIGHT = "authorCanPushToRepository"
_CHECKS = """statusCheckRollup { contexts(first: 100) { nodes {
    ... on CheckRun { name status conclusion url: detailsUrl required: isRequired(pullRequestNumber: $number)
      checkSuite { workflowRun { databaseId } } }
    ... on StatusContext { name: context state url: targetUrl required: isRequired(pullRequestNumber: $number) }
  } } }"""
_STATUS = f"""
query pullStatus($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{
    id state isDraft isInMergeQueue mergeable additions deletions body url
    headRefOid headRefName author {_ACTOR} headRepository {{ nameWithOwner }}
    headRef {{ target {{ ... on Commit {{ {_CHECKS} }} }} }}
    baseRef {{ target {{ oid ... on Commit {{ {_CHECKS} }} }} }}
    commits(last: 100) {{ nodes {{ commit {{ oid message author {{ email }} }} }} }}
    reviewRequests(first: 20) {{ totalCount nodes {{ requestedReviewer {{ ... on Bot {{ databaseId }} }} }} }}
    latestReviews(last: 20) {{ nodes {{ {_RIGHT} state body author {_ACTOR} commit {{ oid }} }} }}
    reviewThreads(last: 100) {{ nodes {{ isResolved
      comments(last: 20) {{ nodes {{
        body author {_ACTOR} pullRequestReview {{ {_RIGHT} }} }} }} }} }}
  }} }}
}}"""
_BASE = f"""
query checksOf($owner: String!, $name: String!, $number: Int!, $oid: GitObjectID!) {{
  repository(owner: $owner, name: $name) {{ object(oid: $oid) {{ ... on Commit {{ {_CHECKS}
    checkSuites(first: 50) {{ nodes {{ checkRuns(first: 100, filterBy: {{ checkType: ALL }}) {{
      nodes {{ name conclusion }} }} }} }} }} }} }}
}}"""


class CheckStatus(NamedTuple):
    """A check run or a commit status. `state` is GitHub's conclusion or, as long as there is none, its status, in
    capitals. `run` is the id of its workflow run, 0 if it is none of Actions."""

    name: str
    state: str
    required: bool
    url: str
    run: int


class ThreadComment(NamedTuple):
    """`insider`: GitHub lets the author push to the repository."""

    author: Account
    body: str
    insider: bool


class ReviewStatus(NamedTuple):
    """The last review of an account. `insider` as in a comment."""

    author: Account
    state: str
    body: str
    commit: str
    insider: bool


class CommitStatus(NamedTuple):
    """A commit of the branch."""

    sha: str
    message: str
    email: str


class PullStatus(NamedTuple):
    """`state` and `mergeable` are GitHub's words, in capitals. `head_repository` is empty if it was deleted, `base_tip`
    if the base branch was. `asked_bots` are the ids of bots whose review is requested."""

    id: str
    url: str
    body: str
    state: str
    queued: bool
    draft: bool
    mergeable: str
    lines: int
    author: Account
    head: str
    head_ref: str
    head_repository: str
    base_tip: str
    checks: tuple[CheckStatus, ...]
    base_checks: tuple[CheckStatus, ...]
    commits: tuple[CommitStatus, ...]
    asked_bots: tuple[int, ...]
    review_requested: bool
    reviews: tuple[ReviewStatus, ...]
    threads: tuple[tuple[ThreadComment, ...], ...]


class PullStatuses(ApiPart):
    def pull_status(self, number: int) -> PullStatus:
        """One request. Of a fork's pull request, too."""
        with self.requester.known_shape():
            return _status(self._query(_STATUS, number=number)["pullRequest"])

    def checks_of(self, number: int, sha: str) -> tuple[tuple[CheckStatus, ...], frozenset[str]]:
        """Return the checks of any commit; which of them the pull request `number` requires; and the names of those
        that both failed and passed there."""
        with self.requester.known_shape():
            commit = self._query(_BASE, number=number, oid=sha)["object"] or {"checkSuites": {"nodes": ()}}
            runs = [run for suite in commit["checkSuites"]["nodes"] for run in suite["checkRuns"]["nodes"]]
            passed, failed = (
                {run["name"] for run in runs if run["conclusion"] == one} for one in ("SUCCESS", "FAILURE")
            )
            return _checks(commit), frozenset(passed & failed)

    def update_branch(self, number: int, head: str) -> None:
        self._post(f"{self.root}/pulls/{number}/update-branch", {"expected_head_sha": head}, "PUT")

    def rerun_failed_jobs(self, run_id: int) -> None:
        self._post(f"{self.root}/actions/runs/{run_id}/rerun-failed-jobs", {})

    def mark_ready(self, pull_id: str, number: int) -> None:
        """Of a draft. Actions' own token needs `contents: write` for it."""
        self._mutate(
            f"mark #{number} as ready for review", "markPullRequestReadyForReview", pullRequestId=pull_id
        )

    def enable_auto_merge(self, pull_id: str, number: int, head: str) -> None:
        """Let GitHub merge this very head as soon as the branch's rules allow it."""
        self._mutate(
            f"let GitHub merge #{number} at {head[:12]}",
            "enablePullRequestAutoMerge",
            pullRequestId=pull_id,
            expectedHeadOid=head,
        )

    def _mutate(self, what: str, mutation: str, **fields: str) -> None:
        if self.is_dry:
            self.requester.record(f"{what} of {self.name}")
            return
        self.requester.pace.before_write()
        kind = f"{mutation[0].upper()}{mutation[1:]}Input!"
        text = f"mutation {mutation}($input: {kind}) {{ {mutation}(input: $input) {{ clientMutationId }} }}"
        self.requester.graphql_query(text, {"input": fields})

    def changed_between(self, base: str, head: str) -> list[str] | None:
        """Return the paths that `head` changes since its merge base with `base`; `None` if they cannot be listed."""
        path = f"{self.root}/compare/{base}...{head}"
        files = self._parsed_or_none(
            partial(self._get, path, lambda data: [str(one["filename"]) for one in data["files"]])
        )
        return None if files is None or len(files) >= 300 else files


def _status(pull: Any) -> PullStatus:
    head, base = ((pull[end] or {}).get("target") or {} for end in ("headRef", "baseRef"))
    asked = pull["reviewRequests"]
    return PullStatus(
        id=pull["id"],
        url=pull["url"],
        body=pull["body"] or "",
        state=pull["state"],
        queued=pull["isInMergeQueue"],
        draft=pull["isDraft"],
        mergeable=pull["mergeable"],
        lines=pull["additions"] + pull["deletions"],
        author=graphql_account(pull["author"]),
        head=pull["headRefOid"],
        head_ref=pull["headRefName"],
        head_repository=(pull["headRepository"] or {}).get("nameWithOwner", ""),
        base_tip=base.get("oid", ""),
        checks=_checks(head),
        base_checks=_checks(base),
        commits=tuple(map(_commit, pull["commits"]["nodes"])),
        asked_bots=tuple((one["requestedReviewer"] or {}).get("databaseId", 0) for one in asked["nodes"]),
        review_requested=asked["totalCount"] > 0,
        reviews=tuple(map(_review, pull["latestReviews"]["nodes"])),
        threads=tuple(_thread(one) for one in pull["reviewThreads"]["nodes"] if not one["isResolved"]),
    )


def _checks(commit: Any) -> tuple[CheckStatus, ...]:
    rollup = commit.get("statusCheckRollup") or {"contexts": {"nodes": ()}}
    return tuple(map(_check, rollup["contexts"]["nodes"]))


def _check(one: Any) -> CheckStatus:
    run = (one.get("checkSuite", {}).get("workflowRun") or {}).get("databaseId", 0)
    state = one.get("state") or one["conclusion"] or one["status"]
    return CheckStatus(one["name"], state, one["required"], one["url"] or "", run)


def _commit(node: Any) -> CommitStatus:
    commit = node["commit"]
    return CommitStatus(commit["oid"], commit["message"], (commit["author"] or {}).get("email") or "")


def _review(one: Any) -> ReviewStatus:
    commit, author = (one["commit"] or {}).get("oid", ""), graphql_account(one["author"])
    return ReviewStatus(author, one["state"], one["body"] or "", commit, one[_RIGHT])


def _thread(one: Any) -> tuple[ThreadComment, ...]:
    return tuple(
        ThreadComment(
            graphql_account(each["author"]),
            each["body"] or "",
            bool(each["pullRequestReview"] and each["pullRequestReview"][_RIGHT]),
        )
        for each in one["comments"]["nodes"]
    )
