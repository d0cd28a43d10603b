"""The policy file's keys about what starts a run and what it may publish: `pull_request`, `forks`, `dispatch`,
`review`, `triggers`, `maintenance`, `writes`, `diff`, `identity`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, cast

import yaml

from bot.contracts.request import Verb
from bot.policy import nodes
from bot.policy.key_kinds import (
    Key,
    Kind,
    Table,
    choice,
    glob,
    line,
    list_of,
    literal,
    mapping_of,
    truth,
    whole,
)
from bot.policy.nodes import Problems
from bot.policy.protected import SERVICES
from bot.policy.values import (
    DiffPolicy,
    Identity,
    MaintenancePolicy,
    PullRequestPolicy,
    ReviewPolicy,
    TriggersPolicy,
    WritesPolicy,
)
from bot.policy.writes import HIGHEST, VERBS, is_ours

Forks = Literal["suggestions", "pull_request", "push"]

_REVIEW_ACTIONS = ("opened", "ready_for_review", "reopened", "synchronize")
# Verbs that only read, which a policy may give to outsiders.
_READING = (Verb.REVIEW, Verb.EXPLAIN, Verb.PLAN)
# Verbs that a label can request: all others need an instruction or an earlier run.
_BY_LABEL = (Verb.FIX, *_READING)
_MOST_WORKFLOWS = 10
_WORKFLOW = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\.ya?ml")
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})")

_EMAIL = re.compile(r"[^\s<>@\"]+@[^\s<>@\"]+")
_NAME = re.compile(r"[^<>]*")


def _verbs(known: tuple[Verb, ...] | Mapping[Verb, object]) -> Kind[frozenset[Verb]]:
    return list_of(choice([verb.value for verb in known])).into(lambda names: frozenset(map(Verb, names)))


FORKS: Kind[Forks] = choice(("suggestions", "pull_request", "push")).into(lambda way: cast(Forks, way))
"""The form of a result on a fork's head, if that is possible."""

THREAD_AUTHOR = _verbs(_READING)

DISPATCH: Kind[tuple[str, ...]] = list_of(
    line(_WORKFLOW, "expected the name of a file in .github/workflows, as in ci.yml", words="file names"),
    most=_MOST_WORKFLOWS,
    over=f"at most {_MOST_WORKFLOWS} workflows are started",
    once=True,
)

# Whether it is a draft by default, and whether it is one even if the request says otherwise.
_DRAFT: Key[tuple[bool, bool]] = Key(
    "draft",
    literal("always", (True, True), truth("true, false or always").into(lambda draft: (draft, False))),
    "Whether it is a draft unless the command says otherwise; always: whatever the command says.",
)
PULL_REQUEST = Table(
    (
        Key("keyword", choice(("Fixes", "Refs")), "How the pull request speaks of its issue."),
        _DRAFT,
        Key("sign_off", truth(), "Add Signed-off-by to commit messages."),
        Key("signed", truth(), "Make the commit by GitHub's API, which signs it, in place of a push."),
        Key(
            "ci", choice(("start", "wait")), "Whether CI on the change starts at once or waits for approval."
        ),
    )
)


def _read_pull_request(node: yaml.Node, problems: Problems) -> PullRequestPolicy:
    section = PULL_REQUEST.read(node, problems)
    default = PullRequestPolicy()
    draft, always = section.get(_DRAFT, (default.draft, default.always_draft))
    return replace(
        PULL_REQUEST.onto(default, section, ignored=(_DRAFT.name,)), draft=draft, always_draft=always
    )


PULL_REQUEST_KIND: Kind[PullRequestPolicy] = Kind(
    _read_pull_request, PULL_REQUEST.schema(PullRequestPolicy()), ""
)

REVIEW = Table(
    (
        Key(
            "on",
            list_of(choice(_REVIEW_ACTIONS)).into(frozenset),
            "What of a pull request starts a review that nobody asked for; [] for nothing.",
        ),
        Key("drafts", truth(), "Review drafts too, before they are ready."),
        Key("max_findings", whole(1, 100), "Findings of one review at most."),
        Key("request_changes", truth(), "Let a review with serious findings request changes."),
    )
)

TRIGGERS = Table(
    (
        Key(
            "labels",
            mapping_of(
                line(words="label"),
                choice([verb.value for verb in _BY_LABEL]).into(Verb),
                # GitHub's labels are unique ignoring case.
                fold=str.lower,
                words="mapping of label to verb",
            ),
            "What setting a label asks for.",
        ),
        Key(
            "assignee",
            line(_LOGIN, "expected the login of an account, without @", words="login"),
            "Assigning this account asks for a fix.",
        ),
        Key("failed_runs", truth(), "A failed run on a pull request asks for a fix, at most twice a head."),
    )
)

MAINTENANCE = Table(
    (
        Key("open_pulls", whole(0, 100), "Pull requests of tasks that may be open at once."),
        Key(
            "back_off_days",
            whole(1, 365),
            "Days before a task whose pull request was closed is tried again; doubles each time.",
        ),
    )
)

_COUNTED = {
    "comment": "Comments of one run at most, by itself.",
    "reply": "Answers to review comments of one run at most.",
    "label": "Labels that one run may set and take off at most.",
    "close": "Issues that one run may close at most.",
    "close_pulls": "Pull requests that one run may close at most.",
    "edit": "Issues that one run may edit at most.",
}


def _read_label(node: yaml.Node, problems: Problems) -> str | None:
    label = nodes.line(node, problems)
    if label is None or not is_ours(label):
        return label
    problems.add(node, f"`{label[:40]}` starts this bot, so a run may not set it")
    return None


WRITES = Table(
    (
        *(Key(name, whole(0, most), _COUNTED[name]) for name, most in HIGHEST.each()),
        Key("verbs", _verbs(VERBS), "What may write without a task, in the thread that was asked in."),
        Key(
            "labels",
            list_of(Kind(_read_label, line().schema, "labels")),
            "Labels that they may set and take off.",
        ),
    )
)


def _read_writes(node: yaml.Node, problems: Problems) -> WritesPolicy:
    """Numbers replace those of the tier, up to `HIGHEST`; `verbs` and `labels` are for runs without a task."""
    section = WRITES.read(node, problems)
    labels: tuple[str, ...] = section.values.get("labels") or ()
    caps = {name: most for name, _ in HIGHEST.each() if (most := section.values.get(name)) is not None}
    verbs: frozenset[Verb] = section.values.get("verbs") or frozenset()
    return WritesPolicy(MappingProxyType(caps), verbs, tuple(dict.fromkeys(labels)))


REVIEW_KIND: Kind[ReviewPolicy] = REVIEW.over(ReviewPolicy())
TRIGGERS_KIND: Kind[TriggersPolicy] = TRIGGERS.over(TriggersPolicy())
MAINTENANCE_KIND: Kind[MaintenancePolicy] = MAINTENANCE.over(MaintenancePolicy())
_WRITES_SCHEMA: Mapping[str, Any] = WRITES.schema(WritesPolicy())
WRITES_KIND: Kind[WritesPolicy] = Kind(_read_writes, _WRITES_SCHEMA, "")


_MOST_GLOBS = 100
_GLOBS = list_of(
    glob(),
    most=_MOST_GLOBS,
    over=f"at most {_MOST_GLOBS} globs are listed; `**` stands for any number of folders",
)
_SERVICES = list_of(
    choice(list(SERVICES)), most=len(SERVICES), over=f"there are {len(SERVICES)} services", once=True
)
DIFF = Table(
    (
        Key("binaries", _GLOBS, "Binary files that may be made or changed."),
        Key("links", _GLOBS, "Symbolic links that may be made or changed."),
        Key("services", _SERVICES, "CI and deployment services whose configuration may be changed."),
        Key("deletions", truth(), "Whether a change may delete more than half of the files, of 20 or more."),
    )
)
DIFF_KIND: Kind[DiffPolicy] = DIFF.over(DiffPolicy())

IDENTITY = Table(
    (
        Key(
            "name",
            line(_NAME, "git allows no < or > in a name", schema=r"[^<>\u0000-\u001f\u007f-\u009f]+"),
            "The author's name.",
        ),
        Key(
            "email",
            line(
                _EMAIL,
                "expected an address as in bot@example.org",
                schema=r'[^\u0000-\u0020<>@"]+@[^\u0000-\u0020<>@"]+',
            ),
            "The author's address.",
        ),
    )
)
IDENTITY_KIND: Kind[Identity] = IDENTITY.over(Identity())
