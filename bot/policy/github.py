"""The policy file's sections about what is done on GitHub: pull requests, reviews, triggers, maintenance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeVar, cast

import yaml

from bot.contracts.request import Verb
from bot.policy import nodes
from bot.policy.nodes import Problems
from bot.policy.schema import MaintenancePolicy, PullRequestPolicy, ReviewPolicy, TriggersPolicy, WritesPolicy
from bot.policy.writes import HIGHEST, VERBS, is_ours

PULL_REQUEST_KEYS = ("keyword", "draft", "sign_off", "signed")
REVIEW_KEYS = ("on", "drafts", "max_findings", "request_changes")
REVIEW_ACTIONS = ("opened", "ready_for_review", "reopened", "synchronize")
TRIGGER_KEYS = ("labels", "assignee", "failed_runs")
FORK_WAYS = ("suggestions", "pull_request", "push")
MAINTENANCE_KEYS = ("open_pulls", "back_off_days")

# What reads only, and so may be given to somebody who is nobody in particular.
_READING = (Verb.REVIEW, Verb.EXPLAIN, Verb.PLAN)
# What a label can ask for: everything else needs words, or a run to speak of.
_BY_LABEL = (Verb.FIX, *_READING)
_MOST_WORKFLOWS = 10
_WORKFLOW = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\.ya?ml")
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})")

Value = TypeVar("Value")


def read_flag(node: yaml.Node, problems: Problems) -> bool:
    return nodes.truth(node, problems) or False


def read_forks(node: yaml.Node, problems: Problems) -> Literal["suggestions", "pull_request", "push"]:
    """What a result on a fork's head becomes, where it can be that."""
    way = nodes.choice(node, FORK_WAYS, problems)
    return cast(Literal["suggestions", "pull_request", "push"], way or FORK_WAYS[0])


def read_pull_request(node: yaml.Node, problems: Problems) -> PullRequestPolicy:
    found = nodes.entries(node, PULL_REQUEST_KEYS, problems)
    default = PullRequestPolicy()
    keyword = nodes.choice(found["keyword"], ("Fixes", "Refs"), problems) if "keyword" in found else None
    draft, always = _read_draft(found["draft"], problems) if "draft" in found else (default.draft, False)
    return PullRequestPolicy(
        keyword=cast(Literal["Fixes", "Refs"], keyword or default.keyword),
        draft=draft,
        always_draft=always,
        sign_off=_truth(found, "sign_off", default.sign_off, problems),
        signed=_truth(found, "signed", default.signed, problems),
    )


def _read_draft(node: yaml.Node, problems: Problems) -> tuple[bool, bool]:
    """Whether it is a draft where the request does not say, and whether it is one whatever the request says."""
    if isinstance(node, yaml.ScalarNode) and node.value == "always":
        return True, True
    return nodes.truth(node, problems, "true, false or always") or False, False


def read_review(node: yaml.Node, problems: Problems) -> ReviewPolicy:
    found = nodes.entries(node, REVIEW_KEYS, problems)
    default = ReviewPolicy()
    on = default.on
    if "on" in found:
        read = (nodes.choice(item, REVIEW_ACTIONS, problems) for item in nodes.items(found["on"], problems))
        on = frozenset(action for action in read if action is not None)
    return ReviewPolicy(
        on=on,
        drafts=_truth(found, "drafts", default.drafts, problems),
        max_findings=_whole(found, "max_findings", default.max_findings, 1, 100, problems),
        request_changes=_truth(found, "request_changes", default.request_changes, problems),
    )


def read_triggers(node: yaml.Node, problems: Problems) -> TriggersPolicy:
    found = nodes.entries(node, TRIGGER_KEYS, problems)
    labels = _read_labels(found["labels"], problems) if "labels" in found else {}
    assignee = (nodes.line(found["assignee"], problems) or "") if "assignee" in found else ""
    if assignee and not _LOGIN.fullmatch(assignee):
        problems.add(found["assignee"], "expected the login of an account, without @")
    failed_runs = _truth(found, "failed_runs", False, problems)
    return TriggersPolicy(MappingProxyType(labels), assignee, failed_runs)


def _read_labels(node: yaml.Node, problems: Problems) -> Mapping[str, Verb]:
    """A mapping of a label's name to a verb. GitHub tells labels apart without regard to case."""
    labels: dict[str, Verb] = {}
    for key, value in nodes.pairs(node, problems):
        name, verb = (
            nodes.line(key, problems),
            nodes.choice(value, [verb.value for verb in _BY_LABEL], problems),
        )
        if name is None or verb is None:
            continue
        if name.lower() in labels:
            problems.add(key, f"`{name[:40]}` is given twice")
        labels[name.lower()] = Verb(verb)
    return labels


def read_maintenance(node: yaml.Node, problems: Problems) -> MaintenancePolicy:
    found = nodes.entries(node, MAINTENANCE_KEYS, problems)
    default = MaintenancePolicy()
    return MaintenancePolicy(
        open_pulls=_whole(found, "open_pulls", default.open_pulls, 0, 100, problems),
        back_off_days=_whole(found, "back_off_days", default.back_off_days, 1, 365, problems),
    )


def read_writes(node: yaml.Node, problems: Problems) -> WritesPolicy:
    """Numbers stand in for the tier's own, within the highest; `verbs` and `labels` are for runs without a task."""
    highest = dict(HIGHEST.each())
    found = nodes.entries(node, (*highest, "verbs", "labels"), problems)
    caps = {
        name: most
        for name in highest
        if name in found and (most := nodes.whole(found[name], problems, 0, highest[name])) is not None
    }
    verbs = nodes.items(found["verbs"], problems) if "verbs" in found else []
    read = (nodes.choice(item, [verb.value for verb in VERBS], problems) for item in verbs)
    labels = nodes.items(found["labels"], problems) if "labels" in found else []
    named = [(item, label) for item in labels if (label := nodes.line(item, problems))]
    for item, label in named:
        if is_ours(label):
            problems.add(item, f"`{label[:40]}` starts this bot, so a run may not set it")
    return WritesPolicy(
        MappingProxyType(caps),
        frozenset(Verb(verb) for verb in read if verb is not None),
        tuple(dict.fromkeys(label for _, label in named)),
    )


def read_dispatch(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    """Names of workflow files, as they are in `.github/workflows`."""
    workflows: list[str] = []
    for item in nodes.items(node, problems):
        name = nodes.line(item, problems)
        if name is None:
            continue
        if not _WORKFLOW.fullmatch(name):
            problems.add(item, "expected the name of a file in .github/workflows, as in ci.yml")
        elif name in workflows:
            problems.add(item, f"`{name}` is listed twice")
        elif len(workflows) == _MOST_WORKFLOWS:
            problems.add(item, f"at most {_MOST_WORKFLOWS} workflows are started")
        else:
            workflows.append(name)
    return tuple(workflows)


def read_thread_author(node: yaml.Node, problems: Problems) -> frozenset[Verb]:
    known = [verb.value for verb in _READING]
    read = (nodes.choice(item, known, problems) for item in nodes.items(node, problems))
    return frozenset(Verb(verb) for verb in read if verb is not None)


def _truth(found: Mapping[str, yaml.Node], key: str, otherwise: bool, problems: Problems) -> bool:
    value = nodes.truth(found[key], problems) if key in found else None
    return otherwise if value is None else value


def _whole(
    found: Mapping[str, yaml.Node], key: str, otherwise: int, lowest: int, highest: int, problems: Problems
) -> int:
    value = nodes.whole(found[key], problems, lowest, highest) if key in found else None
    return otherwise if value is None else value
