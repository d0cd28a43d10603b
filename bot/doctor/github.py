"""Check GitHub: the token and its kind, the repository, settings that stop a pull request, rules for our branches, and
the permissions of a GitHub App."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.pulls import BRANCH_PREFIX
from bot.doctor.contribution_rules import check_demands, missing, ok, unknown, warning
from bot.doctor.finding import Finding
from bot.github.client import GitHub
from bot.github.errors import ACTIONS_SETTING, GitHubError
from bot.github.repositories import BranchDemands
from bot.github.tokens import TokenKind, token_kind
from bot.policy.settings import Policy

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
_FORBIDS = {"creation": "no branch may be made", "update": "no branch may be pushed to"}
_MAY_FORBID = {
    "branch_name_pattern": "names of branches",
    "commit_message_pattern": "commit messages",
    "commit_author_email_pattern": "authors' addresses",
    "committer_email_pattern": "committers' addresses",
}
_RUNS_ALL = (
    "CI on the bot's changes waits for approval unless the policy says `pull_request: {ci: start}`: then any file of a "
    "change is run by your CI before a review."
)
_ALSO_WITH_AN_APP = (
    "A GitHub App does not make up for it: a change whose CI waits for approval is opened with the workflow's own "
    "token."
)
_SIGN = "set `pull_request: { signed: true }` in the policy"
Row = tuple[Callable[..., Finding], *tuple[str, ...]]
"""What makes a finding, its message, and a fix if there is one."""

_ORDINARY_TARGETS = ("branch", "tag", "push", "repository")
_WIDE = (TokenKind.CLASSIC, TokenKind.OAUTH)


def check_github(github: GitHub, token: str, policy: Policy, known: Collection[str] = ()) -> list[Finding]:
    """Check the repository. If it cannot be read, that is the only finding. Of `token` only the kind is checked.
    `known` are the names of the findings in its checkout."""
    try:
        data = github.repository
    except AgentError as error:
        fix = "check the name, and that the token is not expired and may read the repository"
        return [missing("repository", str(error), fix)]
    findings = [ok("repository", f"{data.name}, default branch {data.default_branch}.")]

    def required(_: GitHub) -> Row:
        demands = github.branch_demands(data.default_branch)
        findings.extend(check_demands(demands.checks, policy, known))
        return _required(data.default_branch, demands, policy)

    checks: dict[str, Callable[[GitHub], Row]] = {
        "token": _token,
        "token's kind": partial(_kind, token),
        "Actions": _actions,
        "branch rules": _rules,
        "required": required,
        "execution protections": _protections,
        "secrets": _secrets,
    }
    for name, check in checks.items():
        try:
            kind, *texts = check(github)
        except AgentError as error:
            kind, texts = unknown, [str(error)]
        findings.append(kind(name, *texts))
    return findings


def _token(github: GitHub) -> Row:
    may = github.permissions()
    if not may:
        return unknown, "GitHub does not say what this token may; in Actions the workflow does."
    if may.get("push"):
        return ok, "The token may push."
    message = "The token may read and not push: enough for `run`, not for `publish`."
    return warning, message, "give `publish` a token with contents and pull-requests: write"


def _kind(token: str, github: GitHub) -> Row:
    """Check the token's kind: whether GitHub starts workflows for its pushes."""
    me = github.me
    kind = token_kind(token, me.login if me else "")
    if kind is TokenKind.ACTIONS:
        message = (
            f"GitHub starts no workflows for what {kind} pushes, and holds those for the pull requests that it opens "
            "until somebody with write access approves them. With the token of a GitHub App they start at once."
        )
        fix = (
            "to let CI start at once, say `pull_request: {ci: start}` in the policy, and give the action app-id and "
            "app-private-key or name the workflows under `dispatch`"
        )
        return warning, message, fix
    if kind is TokenKind.UNKNOWN:
        return (
            unknown,
            f"Whether GitHub starts workflows for what {kind} pushes is unknown: look if they ran.",
        )
    message = f"GitHub starts workflows for what is pushed with {kind}."
    if kind in _WIDE:
        message = f"{message} It reaches every repository of its owner."
        return (
            warning,
            f"{message} {_RUNS_ALL}",
            "take a fine-grained token for this repository, or a GitHub App",
        )
    return ok, f"{message} {_RUNS_ALL}"


def _actions(github: GitHub) -> Row:
    settings = github.actions_settings()
    if settings is None:
        message = f'Only an administrator\'s token may look whether "{ACTIONS_SETTING}" is on.'
        return unknown, f"{message} {_ALSO_WITH_AN_APP}"
    enabled, may_open_pulls = settings
    if not enabled:
        return missing, "Actions is off for this repository.", "Settings, Actions, General"
    if not may_open_pulls:
        fix = f'turn on "{ACTIONS_SETTING}" under Settings, Actions, General (of the organisation, if it is greyed out)'
        return missing, f"Actions may not open pull requests here. {_ALSO_WITH_AN_APP}", fix
    return ok, "Actions is on and may open pull requests."


def _rules(github: GitHub) -> Row:
    rules = [kind for kind, _ in github.branch_rules(f"{BRANCH_PREFIX}doctor")]
    barred = [why for rule in rules if (why := _FORBIDS.get(rule))]
    if barred:
        fix = f"let the rule set except branches named {BRANCH_PREFIX}**, or let the token's account pass it"
        return missing, f"For {BRANCH_PREFIX}... a rule says: {', '.join(barred)}.", fix
    if "required_signatures" in rules:
        return warning, f"Commits on {BRANCH_PREFIX}... must be signed.", _SIGN
    narrow = [what for rule, what in _MAY_FORBID.items() if rule in rules]
    if narrow:
        fix = f"see that the pattern takes {BRANCH_PREFIX}... and the policy's `identity`, or except those branches"
        return warning, f"A rule sets a pattern for {' and '.join(narrow)}.", fix
    return ok, f"No rule stops branches named {BRANCH_PREFIX}..."


def _required(branch: str, demands: BranchDemands, policy: Policy) -> Row:
    """Check what a merge into the default branch requires of the bot's commits and titles."""
    checks = f"Required checks on {branch}: {', '.join(demands.checks)}." if demands.checks else ""
    if demands.signed and not policy.pull_request.signed:
        message = f"Commits on {branch} must be signed: a merge or rebase of the bot's commit is refused, a squash not."
        return warning, message, _SIGN
    if demands.signed is None:
        message = f"{checks} Whether commits must be signed only an administrator's token may read.".strip()
        return unknown, message, "run this with a token that has administration: read"
    return ok, checks or f"{branch} requires no check and no signature."


def _protections(github: GitHub) -> Row:
    """Check the rules on who and what may start workflows. They are rulesets, and none of branches, tags or pushes."""
    fix = (
        "under Settings, Actions, Policies allow the events in `on:` of the bot's workflows, and the people who may "
        f"give commands; all rulesets: gh api 'repos/{github.name}/rulesets?includes_parents=true'"
    )
    names = [title for target, title in github.rulesets() if target not in _ORDINARY_TARGETS]
    if names:
        message = f"Rules may limit who and what starts workflows: {', '.join(names)}."
        return (
            warning,
            f"{message} GitHub starts no run that they refuse, and tells nobody in the thread.",
            fix,
        )
    return ok, "No ruleset that a token may read limits who and what starts workflows."


def _secrets(github: GitHub) -> Row:
    names = github.secret_names()
    if names is None:
        return unknown, "Only an administrator's token may look for the names of secrets."
    if keys := [key for key in KEYS if key in names]:
        return ok, f"There is {' and '.join(keys)}."
    message = f"The repository has no secret named {' or '.join(KEYS)}; the organisation may have."
    return warning, message, "Settings, Secrets and variables, Actions"


# What each job cannot do without, and what is missed where it is not there.
_NEEDED = {"contents": "write", "issues": "write", "pull_requests": "write"}
_WANTED_OF_A_LIST = {"actions": "read"}
_WANTED = {"actions": "write", "checks": "write", "statuses": "read"}
_FOR = {
    "actions": " (`stop`, logs, bundles, runs a day)",
    "checks": " (failed checks, why nothing came of a request)",
    "statuses": " (what services outside Actions say)",
}
_RANK = {"read": 1, "write": 2, "admin": 3}
_GRANT = "grant it on the app's settings page, under Permissions; then accept it where the app is installed"


def check_app(own: str, listed: Sequence[str], check: Callable[[str], Mapping[str, str]]) -> list[Finding]:
    """`own` is the workflow's repository; `listed` those that it looks after, it among them or not. `check` returns
    what the app may do on a repository, and raises an `AgentError` where it is not installed, or cannot sign in."""
    repositories = dict.fromkeys([*([own] if own and not listed else []), *listed])
    fine: list[str] = []
    findings: list[Finding] = []
    for repository in repositories:
        name, its_own = f"app on {repository}", repository.lower() == own.lower()
        wanted = _WANTED if its_own else _WANTED_OF_A_LIST
        try:
            granted = check(repository)
        except AgentError as error:
            if isinstance(error, UsageError) or (isinstance(error, GitHubError) and error.status == 401):
                # Id or key are wrong: it is the same for all others.
                return [missing("app", str(error))]
            findings.append(missing(name, str(error)))
            continue
        for kind, of_kind, what in (
            (missing, _NEEDED, "may not do its work: it lacks"),
            (warning, wanted, "does without"),
        ):
            lacking = [
                f"`{permission.replace('_', ' ')}: {access}`{_FOR.get(permission, '')}"
                for permission, access in of_kind.items()
                if _RANK.get(granted.get(permission, ""), 0) < _RANK[access]
            ]
            if lacking:
                findings.append(kind(name, f"The app {what} {', '.join(lacking)}.", _GRANT))
                break
        else:
            fine.append(repository)
    if fine:
        where = fine[0] if len(fine) == 1 else f"{len(fine)} repositories"
        findings.insert(0, ok("app", f"The app has all permissions that it needs in {where}."))
    return findings


def without_app(own: str, listed: Sequence[str]) -> list[Finding]:
    """A list needs an app as soon as another repository than the workflow's own is in it."""
    others = [repository for repository in listed if repository.lower() != own.lower()]
    if not others:
        return []
    message = f"{others[0]} is out of reach of the workflow's own token" + (
        f", and {len(others) - 1} more." if others[1:] else "."
    )
    fix = "set SLASH_AGENT_APP_ID and SLASH_AGENT_APP_PRIVATE_KEY of a GitHub App that is installed there"
    return [missing("app", message, fix)]
