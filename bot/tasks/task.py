"""A maintenance task as a value: what its file says, checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.contracts.request import Verb
from bot.policy.schema import Budget, CheckSpec

FOLDER = ".github/agent"


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the file's, without `.md`. `schedule` is one that `bot.tasks.schedule` knows, empty for a task that
    is only started by hand. `paths` are the only ones that its pull request may change, empty for all; `checks`
    are run beside the policy's. `verbs` are what may be done with it; the schedule does the first.
    """

    name: str
    instruction: str
    schedule: str = ""
    verbs: tuple[Verb, ...] = (Verb.FIX,)
    checks: tuple[CheckSpec, ...] = ()
    paths: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    limits: Budget = field(default_factory=Budget)

    @property
    def verb(self) -> Verb:
        return self.verbs[0]
