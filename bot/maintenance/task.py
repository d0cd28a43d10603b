"""A maintenance task: the model of its front matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from bot.contracts.writes import MAX_LABEL, WriteCaps
from bot.maintenance.schedule import schedule_error
from bot.parsing.yaml_document import Location
from bot.policy.field_types import Glob, Line, problem, raise_problems, whole
from bot.policy.publish_settings import Label
from bot.policy.run_settings import Checks, Folders
from bot.policy.tiers import Budget
from bot.verbs import registry

FOLDER = ".github/agent"
VERBS = tuple(verb.name for verb in registry.VERBS.values() if verb.for_tasks)
"""The verbs of tasks. The other verbs need a thread."""


def _labels(most: int, length: int) -> AfterValidator:
    def check(labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(labels) > most or any(len(label) > length or "," in label for label in labels):
            raise problem(f"at most {most} labels of at most {length} characters, without commas")
        return tuple(dict.fromkeys(labels))

    return AfterValidator(check)


_ThreadLabels = Annotated[tuple[Line, ...], _labels(20, MAX_LABEL)]
_Days = Annotated[int, whole(0, 3650)]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    if not isinstance(verbs, list) or not verbs or any(verb not in VERBS for verb in verbs):
        raise problem(f"`verbs` takes [{', '.join(VERBS)}] only: a task has no thread to plan or answer in")
    return verbs


def _known(schedule: str) -> str:
    schedule = " ".join(schedule.split())
    if error := schedule_error(schedule):
        raise problem(error)
    return schedule


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the file name without `.md`, `instruction` the text after the front matter. `schedule` is empty for a
    task that only people start. `paths` are the globs that its pull request may change, empty for all. `checks` and
    `bring` are added to those of the policy. `verbs` are the allowed verbs; the schedule uses the first. A task with
    `writes` changes no file: it writes on `threads`.
    """

    name: SkipJsonSchema[str]
    instruction: SkipJsonSchema[str]
    schedule: Annotated[Line, AfterValidator(_known)] = ""
    verbs: Annotated[tuple[str, ...], BeforeValidator(_fix_only)] = (registry.DEFAULT,)
    checks: Checks = ()
    paths: tuple[Glob, ...] = ()
    labels: Annotated[tuple[Line, ...], _labels(10, 50)] = ()
    limits: Budget = field(default_factory=Budget)
    bring: Folders = ()
    threads: ThreadFilter | None = None
    writes: Annotated[TaskWrites, AfterValidator(_closes_late)] | None = None

    @property
    def verb(self) -> str:
        return self.verbs[0]

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
