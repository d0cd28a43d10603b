"""A task's file: Markdown, and before it front matter between two lines of `---`.

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

import yaml

from bot.contracts.errors import UsageError
from bot.contracts.request import Verb
from bot.policy import globs, nodes
from bot.policy.file import read_bring, read_budget, read_checks
from bot.policy.nodes import Problems
from bot.tasks import schedule
from bot.tasks.task import FOLDER, Task
from bot.tasks.writes import check_writes, read_threads, read_writes

KEYS = ("schedule", "verbs", "checks", "paths", "labels", "limits", "bring", "threads", "writes")
VERBS = (Verb.FIX,)
"""What a task can do: the others plan or answer in a thread, or go on with one, and a task has none."""

MAX_INSTRUCTION = 20_000
MAX_LABELS = 10
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")
_FENCE = re.compile(r"---[ \t]*(?:\n|\Z)")


def is_task_file(name: str) -> bool:
    """Whether a file of the folder is a task: `README.md` and whatever is no Markdown is not."""
    return name.endswith(".md") and name != "README.md"


def path_of(name: str) -> str:
    """Where the task `name` lies. Raises `UsageError` for what can be no task's name: it may come from a payload."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name[:60]}` is no task's name: small letters, digits and hyphens make one.")
    return f"{FOLDER}/{name}.md"


def read_task(text: str, path: str) -> Task:
    """The task in the file at `path`. Raises `PolicyError` with each problem as `file:line:column: message`."""
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
    """Front matter and instruction. The fence's line is kept as a blank one, so that lines count as in the file."""
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
    found = nodes.entries(root, KEYS, problems)
    check_writes(found, problems)
    return Task(
        name=task.name,
        instruction=task.instruction,
        schedule=_schedule(found["schedule"], problems) if "schedule" in found else "",
        verbs=_verbs(found["verbs"], problems) if "verbs" in found else task.verbs,
        checks=read_checks(found["checks"], problems) if "checks" in found else (),
        paths=_paths(found["paths"], problems) if "paths" in found else (),
        labels=_labels(found["labels"], problems) if "labels" in found else (),
        limits=read_budget(found["limits"], problems) if "limits" in found else task.limits,
        bring=read_bring(found["bring"], problems) if "bring" in found else (),
        threads=read_threads(found["threads"], problems) if "threads" in found else None,
        writes=read_writes(found["writes"], problems) if "writes" in found else None,
    )


def _schedule(node: yaml.Node, problems: Problems) -> str:
    value = " ".join((nodes.line(node, problems) or "").split())
    if value and (why := schedule.flaw(value)):
        problems.add(node, why)
    return value


def _verbs(node: yaml.Node, problems: Problems) -> tuple[Verb, ...]:
    named = {nodes.text(item, problems) for item in nodes.items(node, problems)}
    if named != set(VERBS):
        problems.add(
            node, f"`verbs` takes [{', '.join(VERBS)}] only: a task has no thread to plan or answer in"
        )
    return VERBS


def _paths(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    read = []
    for item in nodes.items(node, problems):
        glob = nodes.line(item, problems)
        if glob is None:
            continue
        if why := globs.flaw(glob):
            problems.add(item, why)
        read.append(glob)
    return tuple(read)


def _labels(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    read = [label for item in nodes.items(node, problems) if (label := nodes.line(item, problems))]
    if len(read) > MAX_LABELS or any(len(label) > 50 or "," in label for label in read):
        problems.add(node, f"at most {MAX_LABELS} labels of at most 50 characters, without commas")
    return tuple(read)
