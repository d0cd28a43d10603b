"""The status of a pull request in one query: whether it can be merged, its commits, checks, reviews and threads; and
what moves it on without a commit.
"""

from functools import partial
from typing import Any, NamedTuple

from github.PullRequest import PullRequest

from bot.github.accounts import graphql_account
from bot.github.transport import ApiPart
from bot.github.values import Account

_ACTOR = "{ __typename login ... on User { databaseId } ... on Bot { databaseId } }"
_RIGHT = "authorCanPushToRepository"
_RUN = "workflowRun { databaseId event url workflow { name } file { path } }"
_CHECKS = f"""statusCheckRollup {{ state contexts(first: 100) {{ totalCount nodes {{
    ... on CheckRun {{ name status conclusion url: detailsUrl required: isRequired(pullRequestNumber: $number)
      checkSuite {{ {_RUN} }} }}
    ... on StatusContext {{ name: context state url: targetUrl required: isRequired(pullRequestNumber: $number) }}
  }} }} }}"""
_SUITES = (
    f"checkSuites(last: 100) {{ nodes {{ status conclusion {_RUN} checkRuns(first: 1) {{ totalCount }} }} }}"
)
_REQUIRED = """refUpdateRule { requiredStatusCheckContexts } rules(first: 100) { nodes { parameters {
    ... on RequiredStatusChecksParameters { requiredStatusChecks { context } } } } }"""
_STATUS = f"""
query pullStatus($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{
    id state isDraft isInMergeQueue mergeable additions deletions body url
    headRefOid headRefName author {_ACTOR} headRepository {{ nameWithOwner }}
    headRef {{ target {{ ... on Commit {{ {_CHECKS} {_SUITES} }} }} }}
    baseRef {{ {_REQUIRED} target {{ oid ... on Commit {{ {_CHECKS} }} }} }}
    commits(last: 100) {{ nodes {{ commit {{ oid message author {{ email }} committer {{ email }} }} }} }}
    labels(first: 100) {{ nodes {{ name }} }}
    reviewRequests(first: 20) {{ totalCount nodes {{ requestedReviewer {{ ... on Bot {{ databaseId }} }} }} }}
    latestOpinionatedReviews(last: 100) {{ nodes {{ {_RIGHT} state body author {_ACTOR} commit {{ oid }} }} }}
    reviewThreads(last: 100) {{ nodes {{ isResolved
      comments(last: 100) {{ nodes {{
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
    capitals; of a required check that nobody reported yet, `EXPECTED`. `run` is the id of its workflow run, 0 if it is
    none of Actions, and `workflow` the path of that workflow's file."""

    name: str
    state: str
    required: bool
    url: str = ""
    run: int = 0
    workflow: str = ""


class ThreadComment(NamedTuple):
    """`insider`: GitHub lets the author push to the repository."""

    author: Account
    body: str
    insider: bool


class ReviewStatus(NamedTuple):
    """The last review of an account that approves, requests changes or was dismissed: GitHub keeps what it says when
    the account only comments later. `insider` as in a comment."""

    author: Account
    state: str
    body: str
    commit: str
    insider: bool


class CommitStatus(NamedTuple):
    """A commit of the branch. `emails` are its author's and its committer's."""

    sha: str
    message: str
    emails: tuple[str, str]


Checks = tuple[CheckStatus, ...]


class PullStatus(NamedTuple):
    """`state` and `mergeable` are GitHub's words, in capitals. `head_repository` is empty if it was deleted, `base_tip`
    if the base branch was. `asked_bots` are the ids of bots whose review is requested. `labels` are case-folded."""

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
    checks: Checks
    base_checks: Checks
    commits: tuple[CommitStatus, ...]
    asked_bots: tuple[int, ...]
    review_requested: bool
    reviews: tuple[ReviewStatus, ...]
    threads: tuple[tuple[ThreadComment, ...], ...]
    labels: frozenset[str]


class PullStatuses(ApiPart):
    def pull_status(self, number: int) -> PullStatus:
        """One request. Of a fork's pull request, too."""
        with self.requester.known_shape():
            return _status(self._query(_STATUS, number=number)["pullRequest"])

    def checks_of(self, number: int, sha: str) -> tuple[Checks, frozenset[str]]:
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
        PullRequest(self.requester, url=f"{self.root}/pulls/{number}").update_branch(head)

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

    def changed_between(self, base: str, head: str) -> list[str] | None:
        """Return the paths that `head` changes since its merge base with `base`; `None` if they cannot be listed."""
        path = f"{self.root}/compare/{base}...{head}"
        files = self._parsed_or_none(
            partial(self._get, path, lambda data: [str(one["filename"]) for one in data["files"]])
        )
        return None if files is None or len(files) >= 300 else files


def _status(pull: Any) -> PullStatus:
    head, base = ((pull[end] or {}).get("target") or {} for end in ("headRef", "baseRef"))
    requests = pull["reviewRequests"]
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
        checks=_head_checks(head, pull["baseRef"] or {}),
        base_checks=_checks(base),
        commits=tuple(map(_commit, pull["commits"]["nodes"])),
        asked_bots=tuple((one["requestedReviewer"] or {}).get("databaseId", 0) for one in requests["nodes"]),
        review_requested=requests["totalCount"] > 0,
        reviews=tuple(map(_review, pull["latestOpinionatedReviews"]["nodes"])),
        threads=tuple(_thread(one) for one in pull["reviewThreads"]["nodes"] if not one["isResolved"]),
        labels=frozenset(one["name"].casefold() for one in pull["labels"]["nodes"]),
    )


def _head_checks(head: Any, base: Any) -> Checks:
    """Return the checks of the head, also what the roll-up leaves out: workflow runs without a job, as those that wait
    for approval, and required checks that nobody reported."""
    reported = list(_checks(head))
    for suite in head.get("checkSuites", {"nodes": ()})["nodes"]:
        run, state = suite["workflowRun"], suite["conclusion"] or suite["status"]
        if run and not suite["checkRuns"]["totalCount"] and suite["conclusion"] in (None, "ACTION_REQUIRED"):
            reported.append(_of_run(CheckStatus(run["workflow"]["name"], state, False, run["url"]), run))
    rules = [one["parameters"] or {} for one in (base.get("rules") or {"nodes": ()})["nodes"]]
    required = {one["context"] for rule in rules for one in rule.get("requiredStatusChecks", ())}
    required.update((base.get("refUpdateRule") or {}).get("requiredStatusCheckContexts") or ())
    missing = sorted(required.difference(one.name for one in reported))
    return (*reported, *(CheckStatus(name, "EXPECTED", True) for name in missing))


def _checks(commit: Any) -> Checks:
    """Return the checks of the roll-up. It has those of each run of a workflow, of which the newest counts."""
    rollup = commit.get("statusCheckRollup") or {"contexts": {"nodes": (), "totalCount": 0}}
    contexts, checks = rollup["contexts"], dict[object, CheckStatus]()
    for number, one in enumerate(contexts["nodes"]):
        run = one.get("checkSuite", {}).get("workflowRun")
        check = CheckStatus(
            one["name"],
            one.get("state") or one["conclusion"] or one["status"],
            one["required"],
            one["url"] or "",
        )
        check = _of_run(check, run) if run else check
        key = (check.name, check.workflow, run["event"]) if run else number
        checks[key] = max(checks.get(key, check), check, key=lambda one: one.run)
    if contexts["totalCount"] > len(contexts["nodes"]):
        checks["rest"] = CheckStatus("a check after the first hundred", rollup["state"], False)
    return tuple(checks.values())


def _of_run(check: CheckStatus, run: Any) -> CheckStatus:
    return check._replace(run=run["databaseId"] or 0, workflow=(run["file"] or {}).get("path", ""))


def _commit(node: Any) -> CommitStatus:
    commit = node["commit"]
    author, committer = ((commit[who] or {}).get("email") or "" for who in ("author", "committer"))
    return CommitStatus(commit["oid"], commit["message"], (author, committer))


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
