"""The model of a maintenance task's file: front matter between two lines of `---`, then Markdown:

---
schedule: weekly
paths: ["docs/**", README.md]
labels: [documentation]
limits: { usd: 1 }
---
Find links in the documentation that lead nowhere, and fix or remove them.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from posixpath import basename
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, TypeAdapter
from pydantic.json_schema import SkipJsonSchema

from bot.contracts.errors import UsageError
from bot.contracts.writes import MAX_LABEL, WriteCaps
from bot.maintenance.schedule import checked_schedule
from bot.parsing.front_matter import split_front_matter
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import Location, Problem
from bot.policy.check_settings import Checks, Folders
from bot.policy.field_types import Glob, Line, problem, raise_problems, whole
from bot.policy.policy_error import PolicyError
from bot.policy.publish_settings import Label
from bot.policy.tiers_and_budget import Budget
from bot.policy.validate_document import read_document
from bot.verbs import registry

FOLDER = ".github/agent"


def _labels(most: int, length: int) -> AfterValidator:
    def check(labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(labels) > most or any(len(label) > length or "," in label for label in labels):
            raise problem(f"at most {most} labels of at most {length} characters, without commas")
        return tuple(dict.fromkeys(labels))

    return AfterValidator(check)


_ThreadLabels = Annotated[tuple[Line, ...], _labels(20, MAX_LABEL)]
_Days = Annotated[int, whole(0, 3650)]


@dataclass(frozen=True)
class ThreadFilter:
    """The threads in a task's context. A thread has all of `labels` and none of `without`.

    `idle_days`: days without activity other than the bot's; 0 for no condition. Threads with a label that the task may
    set match regardless of activity.
    """

    state: Literal["open", "closed"] = "open"
    kind: Literal["issues", "pulls", "all"] = "issues"
    labels: _ThreadLabels = ()
    without: _ThreadLabels = ()
    idle_days: _Days = 0
    limit: Annotated[int, whole(1, 100)] = 30


@dataclass(frozen=True)
class TaskWrites:
    """What a task may write on its threads: how many of each kind, without replies, since its context has no review
    threads. `labels` are those that it may add and remove.

    It closes a thread only `close_after_days` after its own comment, without activity since.
    """

    comment: Annotated[int, whole(0, 50)] = 0
    label: Annotated[int, whole(0, 100)] = 0
    close: Annotated[int, whole(0, 25)] = 0
    close_pulls: Annotated[int, whole(0, 10)] = 0
    edit: Annotated[int, whole(0, 10)] = 0
    labels: Annotated[tuple[Label, ...], _labels(20, MAX_LABEL)] = ()
    close_after_days: _Days = 14

    @property
    def caps(self) -> WriteCaps:
        return WriteCaps(
            comment=self.comment,
            label=self.label,
            close=self.close,
            close_pulls=self.close_pulls,
            edit=self.edit,
        )


def _closes_late(writes: TaskWrites) -> TaskWrites:
    if bool(writes.label) != bool(writes.labels):
        raise problem("`label` says how many may be set or taken off, `labels` which: give both or neither")
    closes = (writes.close or writes.close_pulls) and writes.close_after_days
    if closes and not (writes.comment and writes.labels):
        raise problem(
            "a thread is closed only days after this task commented on it and labelled it: give `comment`, `label` "
            "and `labels` as well, or `close_after_days: 0`"
        )
    return writes


def _fix_only(verbs: object) -> object:
    if verbs != [registry.DEFAULT]:
        raise problem(f"`verbs` takes [{registry.DEFAULT}] only: a task has no thread to plan or answer in")
    return verbs


@dataclass(frozen=True)
class Task:
    """`name` is the file name without `.md`, `instruction` the text after the front matter. `schedule` is empty for a
    task that only people start. `paths` are the globs that its pull request may change, empty for all. `checks` and
    `bring` are added to those of the policy. `verbs` can be the default verb alone. A task with `writes` changes no
    file: it writes on `threads`.
    """

    name: SkipJsonSchema[str]
    instruction: SkipJsonSchema[str]
    schedule: Annotated[Line, AfterValidator(checked_schedule)] = ""
    verbs: Annotated[tuple[str, ...], BeforeValidator(_fix_only)] = (registry.DEFAULT,)
    checks: Checks = ()
    paths: tuple[Glob, ...] = ()
    labels: Annotated[tuple[Line, ...], _labels(10, 50)] = ()
    limits: Budget = field(default_factory=Budget)
    bring: Folders = ()
    threads: ThreadFilter | None = None
    writes: Annotated[TaskWrites, AfterValidator(_closes_late)] | None = None

    @property
    def opens_pulls(self) -> bool:
        """Whether its result is a pull request."""
        return self.writes is None


def consistent(task: Task) -> Task:
    """Raise the problems of keys that mean nothing together."""
    problems: list[tuple[Location, str]] = []
    if task.writes is not None and task.threads is None:
        problems.append((("writes",), "a task that writes says which `threads` it is shown"))
    if task.threads is not None and task.writes is None:
        problems.append((("threads",), "a task that is shown `threads` says what it `writes` there"))
    unused = [key for key in ("checks", "paths", "labels", "bring") if task.writes and getattr(task, key)]
    why = "a task that writes on threads changes no file, so `{}` means nothing"
    raise_problems(problems + [((key,), why.format(key)) for key in unused])
    return task


MAX_INSTRUCTION = 20_000
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


def is_task_file(name: str) -> bool:
    """Whether a file of the folder is a task: a Markdown file other than `README.md`."""
    return name.endswith(".md") and name != "README.md"


def path_of(name: str) -> str:
    """Return the path of the task `name`. Raises `UsageError` for an invalid name: it may come from a payload."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name[:60]}` is not a task name: use small letters, digits and hyphens.")
    return f"{FOLDER}/{name}.md"


def read_task(text: str, path: str, parser: Parser | None = None) -> Task:
    """Parse the task file at `path`. Raises `PolicyError` with each problem as `file:line:column: message`."""
    name = basename(path).removesuffix(".md")
    front = split_front_matter(text)
    instruction = front.body.strip()
    if not _NAME.fullmatch(name):
        why = "a task's file is named with small letters, digits and hyphens, as in dead-links.md"
    elif front.is_open:
        why = "the front matter has no second line of ---"
    elif not instruction:
        why = "there is no instruction after the front matter"
    elif len(instruction) > MAX_INSTRUCTION:
        why = f"the instruction is over {MAX_INSTRUCTION} characters"
    else:
        if front.yaml is None:
            return Task(name, instruction)
        defaults = {"name": name, "instruction": instruction}
        return read_document(_adapter(), front.yaml, path, parser, defaults)
    raise PolicyError(path, [Problem(1, 1, why)])


@cache
def _adapter() -> TypeAdapter[Task]:
    """Cached: it takes 20 ms."""
    return TypeAdapter(Annotated[Task, AfterValidator(consistent)])
