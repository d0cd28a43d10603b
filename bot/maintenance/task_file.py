"""Parse a task file: front matter between two lines of `---`, then Markdown.

---
schedule: weekly
paths: ["docs/**", README.md]
labels: [documentation]
limits: { usd: 1 }
---
Find links in the documentation that lead nowhere, and fix or remove them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, cast

import yaml

from bot.contracts.errors import UsageError
from bot.contracts.request import Verb
from bot.contracts.writes import MAX_LABEL, WriteCaps
from bot.maintenance.task import FOLDER, Task, TaskWrites, ThreadFilter, schedule_error
from bot.policy import globs, nodes
from bot.policy.keys_commands import read_bring, read_checks
from bot.policy.keys_tiers import read_budget
from bot.policy.nodes import Problems
from bot.policy.writes import HIGHEST, is_ours

KEYS = ("schedule", "verbs", "checks", "paths", "labels", "limits", "bring", "threads", "writes")
VERBS = (Verb.FIX,)
"""The verbs of tasks. The other verbs need a thread."""

MAX_INSTRUCTION = 20_000
MAX_LABELS = 10
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")
_FENCE = re.compile(r"---[ \t]*(?:\n|\Z)")


def is_task_file(name: str) -> bool:
    """Whether a file of the folder is a task: a Markdown file other than `README.md`."""
    return name.endswith(".md") and name != "README.md"


def path_of(name: str) -> str:
    """Return the path of the task `name`. Raises `UsageError` for an invalid name: it may come from a payload."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name[:60]}` is no task's name: small letters, digits and hyphens make one.")
    return f"{FOLDER}/{name}.md"


def read_task(text: str, path: str) -> Task:
    """Parse the task file at `path`. Raises `PolicyError` with each problem as `file:line:column: message`."""
    problems = Problems(path)
    name = path.rpartition("/")[2].removesuffix(".md")
    if not _NAME.fullmatch(name):
        problems.stop(
            1, 1, "a task's file is named with small letters, digits and hyphens, as in dead-links.md"
        )
    front, instruction = _split(text.replace("\r\n", "\n"), problems)
    root = nodes.compose(front, problems)
    task = Task(name, instruction)
    if root is not None:
        task = _read(root, task, problems)
    problems.raise_any()
    return task


def _split(text: str, problems: Problems) -> tuple[str, str]:
    """Return front matter and instruction. A blank line replaces the first fence, so that line numbers match the
    file."""
    front = ""
    opening = _FENCE.match(text)
    if opening:
        closing = re.compile(r"^" + _FENCE.pattern, re.MULTILINE).search(text, opening.end())
        if closing is None:
            problems.stop(1, 1, "the front matter has no second line of ---")
        front, text = "\n" + text[opening.end() : closing.start()], text[closing.end() :]
    instruction = text.strip()
    if not instruction:
        problems.stop(1, 1, "there is no instruction after the front matter")
    if len(instruction) > MAX_INSTRUCTION:
        problems.stop(1, 1, f"the instruction is over {MAX_INSTRUCTION} characters")
    return front, instruction


def _read(root: yaml.Node, task: Task, problems: Problems) -> Task:
    fields = nodes.entries(root, KEYS, problems)
    check_writes(fields, problems)
    return Task(
        name=task.name,
        instruction=task.instruction,
        schedule=_schedule(fields["schedule"], problems) if "schedule" in fields else "",
        verbs=_verbs(fields["verbs"], problems) if "verbs" in fields else task.verbs,
        checks=read_checks(fields["checks"], problems) if "checks" in fields else (),
        paths=_paths(fields["paths"], problems) if "paths" in fields else (),
        labels=_labels(fields["labels"], problems) if "labels" in fields else (),
        limits=read_budget(fields["limits"], problems) if "limits" in fields else task.limits,
        bring=read_bring(fields["bring"], problems) if "bring" in fields else (),
        threads=read_threads(fields["threads"], problems) if "threads" in fields else None,
        writes=read_writes(fields["writes"], problems) if "writes" in fields else None,
    )


def _schedule(node: yaml.Node, problems: Problems) -> str:
    value = " ".join((nodes.line(node, problems) or "").split())
    if value and (error := schedule_error(value)):
        problems.add(node, error)
    return value


def _verbs(node: yaml.Node, problems: Problems) -> tuple[Verb, ...]:
    named = {nodes.text(item, problems) for item in nodes.items(node, problems)}
    if named != set(VERBS):
        problems.add(
            node, f"`verbs` takes [{', '.join(VERBS)}] only: a task has no thread to plan or answer in"
        )
    return VERBS


def _paths(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    paths = []
    for item in nodes.items(node, problems):
        glob = nodes.line(item, problems)
        if glob is None:
            continue
        if error := globs.flaw(glob):
            problems.add(item, error)
        paths.append(glob)
    return tuple(paths)


def _labels(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    labels = [label for item in nodes.items(node, problems) if (label := nodes.line(item, problems))]
    if len(labels) > MAX_LABELS or any(len(label) > 50 or "," in label for label in labels):
        problems.add(node, f"at most {MAX_LABELS} labels of at most 50 characters, without commas")
    return tuple(labels)


THREADS_KEYS = ("state", "kind", "labels", "without", "idle_days", "limit")
CAPS = ("comment", "label", "close", "close_pulls", "edit")
"""Without `reply`: a task's context has no review threads."""
MOST_THREADS = 100
MOST_DAYS = 3650
_MOST_LABELS = 20
_NO_PULL = ("checks", "paths", "labels", "bring")


def check_writes(fields: Mapping[str, yaml.Node], problems: Problems) -> None:
    """Report invalid combinations of `threads`, `writes` and other keys."""
    if "writes" in fields and "threads" not in fields:
        problems.add(fields["writes"], "a task that writes says which `threads` it is shown")
    if "threads" in fields and "writes" not in fields:
        problems.add(fields["threads"], "a task that is shown `threads` says what it `writes` there")
    for key in _NO_PULL:
        if "writes" in fields and key in fields:
            problems.add(
                fields[key], f"a task that writes on threads changes no file, so `{key}` means nothing"
            )


def read_threads(node: yaml.Node, problems: Problems) -> ThreadFilter:
    fields = nodes.entries(node, THREADS_KEYS, problems)
    default = ThreadFilter()
    state = nodes.choice(fields["state"], ("open", "closed"), problems) if "state" in fields else None
    kind = nodes.choice(fields["kind"], ("issues", "pulls", "all"), problems) if "kind" in fields else None
    return ThreadFilter(
        state=cast(Literal["open", "closed"], state or default.state),
        kind=cast(Literal["issues", "pulls", "all"], kind or default.kind),
        labels=_thread_labels(fields["labels"], problems) if "labels" in fields else (),
        without=_thread_labels(fields["without"], problems) if "without" in fields else (),
        idle_days=_whole(fields, "idle_days", problems, default=default.idle_days, maximum=MOST_DAYS),
        limit=_whole(fields, "limit", problems, default=default.limit, minimum=1, maximum=MOST_THREADS),
    )


def read_writes(node: yaml.Node, problems: Problems) -> TaskWrites:
    fields = nodes.entries(node, (*CAPS, "labels", "close_after_days"), problems)
    highest = dict(HIGHEST.each())
    caps = WriteCaps(**{name: _whole(fields, name, problems, maximum=highest[name]) for name in CAPS})
    names = _thread_labels(fields["labels"], problems) if "labels" in fields else ()
    after = _whole(
        fields, "close_after_days", problems, default=TaskWrites().close_after_days, maximum=MOST_DAYS
    )
    for label in names:
        if is_ours(label):
            problems.add(fields["labels"], f"`{label[:40]}` starts this bot, so a task may not set it")
    if bool(caps.label) != bool(names):
        problems.add(
            node, "`label` says how many may be set or taken off, `labels` which: give both or neither"
        )
    if (caps.close or caps.close_pulls) and after and not (caps.comment and names):
        problems.add(
            node,
            "a thread is closed only days after this task commented on it and labelled it: give `comment`, `label` "
            "and `labels` as well, or `close_after_days: 0`",
        )
    return TaskWrites(caps, names, after)


def _thread_labels(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    labels = [label for item in nodes.items(node, problems) if (label := nodes.line(item, problems))]
    if len(labels) > _MOST_LABELS or any(len(label) > MAX_LABEL or "," in label for label in labels):
        problems.add(node, f"at most {_MOST_LABELS} labels of at most {MAX_LABEL} characters, without commas")
    return tuple(dict.fromkeys(labels))


def _whole(
    fields: Mapping[str, yaml.Node],
    key: str,
    problems: Problems,
    *,
    maximum: int,
    minimum: int = 0,
    default: int = 0,
) -> int:
    value = nodes.whole(fields[key], problems, minimum, maximum) if key in fields else None
    return default if value is None else value
