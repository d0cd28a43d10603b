"""Keys of what starts a run beside a command; those of automatic reviews are in `review_settings.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator

from bot.parsing.yaml_document import KEY
from bot.policy.field_types import key, line, one_of, raise_problems, repeated, short, whole
from bot.policy.tiers_and_budget import BotId
from bot.verbs.registry import DEFAULT, STANDING_ALONE


def _lower(labels: Mapping[str, str]) -> Mapping[str, str]:
    """GitHub's labels are unique ignoring case."""
    names = list(labels)
    twice = [names[n] for n, _ in repeated(label.lower() for label in names)]
    raise_problems(((label, KEY), f"`{label[:60]}` is given twice") for label in twice)
    return MappingProxyType({label.lower(): verb for label, verb in labels.items()})


@dataclass(frozen=True)
class FailedRunsPolicy:
    """Whose failed workflow runs start a fix."""

    people: bool = key(False, "Those on pull requests of people, at most twice for a head.")
    authors: frozenset[BotId] = key(
        frozenset(), "Those on dependency updates by these bots, by account id, once for a head."
    )
    verbs: frozenset[Annotated[str, one_of((DEFAULT,))]] = key(
        frozenset({DEFAULT}), "The verb that is started."
    )


@dataclass(frozen=True)
class TriggersPolicy:
    """What starts a run beside a command. The names of `labels` are in lower case."""

    labels: Annotated[
        Mapping[Annotated[str, line("a label")], Annotated[str, one_of(STANDING_ALONE)]],
        AfterValidator(_lower),
    ] = key(None, "The verb that a label starts.", factory=dict, title="a mapping of label to verb")
    assignee: Annotated[
        str, line("the login of an account, without @", r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})")
    ] = key("", "Assigning this account starts a fix.")
    failed_runs: Annotated[FailedRunsPolicy, short("people", bool | FailedRunsPolicy)] = key(
        FailedRunsPolicy(), "A failed workflow run on a pull request starts a fix; true for those of people."
    )


@dataclass(frozen=True)
class MaintenancePolicy:
    """A task whose pull request somebody closed unmerged rests for `back_off_days`, then twice that, and so on."""

    open_pulls: Annotated[int, whole(0, 100)] = key(5, "Pull requests of tasks that may be open at once.")
    back_off_days: Annotated[int, whole(1, 365)] = key(
        14, "Days until a task runs again after its pull request was closed; doubles each time."
    )
    dashboard: bool = key(True, "Keep an issue that lists the tasks and their last results.")
