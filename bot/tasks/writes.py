"""The keys `threads` and `writes` of a task's file: what it is shown of the tracker, and what it may write there.

---
threads: { idle_days: 60, without: [pinned], limit: 30 }
writes: { comment: 20, label: 40, close: 5, labels: [stale], close_after_days: 14 }
---
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import yaml

from bot.contracts.writes import MAX_LABEL, WriteCaps
from bot.policy import nodes
from bot.policy.nodes import Problems
from bot.policy.writes import HIGHEST, is_ours
from bot.tasks.task import TaskWrites, ThreadFilter

THREADS_KEYS = ("state", "kind", "labels", "without", "idle_days", "limit")
CAPS = ("comment", "label", "close", "close_pulls", "edit")
"""`reply` is not among them: a task is shown no review threads."""
MOST_THREADS = 100
MOST_DAYS = 3650
_MOST_LABELS = 20
_NO_PULL = ("checks", "paths", "labels", "bring")


def check_writes(found: Mapping[str, yaml.Node], problems: Problems) -> None:
    """What the two keys ask of each other and of the others."""
    if "writes" in found and "threads" not in found:
        problems.add(found["writes"], "a task that writes says which `threads` it is shown")
    if "threads" in found and "writes" not in found:
        problems.add(found["threads"], "a task that is shown `threads` says what it `writes` there")
    for key in _NO_PULL:
        if "writes" in found and key in found:
            problems.add(
                found[key], f"a task that writes on threads changes no file, so `{key}` means nothing"
            )


def read_threads(node: yaml.Node, problems: Problems) -> ThreadFilter:
    found = nodes.entries(node, THREADS_KEYS, problems)
    default = ThreadFilter()
    state = nodes.choice(found["state"], ("open", "closed"), problems) if "state" in found else None
    kind = nodes.choice(found["kind"], ("issues", "pulls", "all"), problems) if "kind" in found else None
    return ThreadFilter(
        state=cast(Literal["open", "closed"], state or default.state),
        kind=cast(Literal["issues", "pulls", "all"], kind or default.kind),
        labels=_labels(found["labels"], problems) if "labels" in found else (),
        without=_labels(found["without"], problems) if "without" in found else (),
        idle_days=_whole(found, "idle_days", default.idle_days, 0, MOST_DAYS, problems),
        limit=_whole(found, "limit", default.limit, 1, MOST_THREADS, problems),
    )


def read_writes(node: yaml.Node, problems: Problems) -> TaskWrites:
    found = nodes.entries(node, (*CAPS, "labels", "close_after_days"), problems)
    highest = dict(HIGHEST.each())
    caps = WriteCaps(**{name: _whole(found, name, 0, 0, highest[name], problems) for name in CAPS})
    labels = _labels(found["labels"], problems) if "labels" in found else ()
    after = _whole(found, "close_after_days", TaskWrites().close_after_days, 0, MOST_DAYS, problems)
    for label in labels:
        if is_ours(label):
            problems.add(found["labels"], f"`{label[:40]}` starts this bot, so a task may not set it")
    if bool(caps.label) != bool(labels):
        problems.add(
            node, "`label` says how many may be set or taken off, `labels` which: give both or neither"
        )
    if (caps.close or caps.close_pulls) and after and not (caps.comment and labels):
        problems.add(
            node,
            "a thread is closed only days after this task commented on it and labelled it: give `comment`, `label` "
            "and `labels` as well, or `close_after_days: 0`",
        )
    return TaskWrites(caps, labels, after)


def _labels(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    read = [label for item in nodes.items(node, problems) if (label := nodes.line(item, problems))]
    if len(read) > _MOST_LABELS or any(len(label) > MAX_LABEL or "," in label for label in read):
        problems.add(node, f"at most {_MOST_LABELS} labels of at most {MAX_LABEL} characters, without commas")
    return tuple(dict.fromkeys(read))


def _whole(
    found: Mapping[str, yaml.Node], key: str, otherwise: int, lowest: int, highest: int, problems: Problems
) -> int:
    value = nodes.whole(found[key], problems, lowest, highest) if key in found else None
    return otherwise if value is None else value
