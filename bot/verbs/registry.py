"""Find the verbs: each file beside this one with a `VERB`.

To add a verb `name`, copy the file beside this one that is nearest to it (`explain.py` for a verb that reads, `fix.py`
for one that changes code) to `name.py`, and change its fields; `record.py` says what they mean. Nothing else names it,
but a verb without a model needs an `Answer` there, and its text in `bot/session/event/instant_answers.py`:

- `/agent name` is in the comment grammar with its options, in the answer of `/agent help` and in the near misses;
- the policy knows it as a verb (`tiers`, `triggers`, `writes`, `model_settings`), and its tiers have it by default;
- with `local`, `slash-agent name` exists, with `--help` and completion;
- publishing takes from its runs what `publishes` names, and nothing else.

Then `make schema` writes it into docs/commands.md and the schemas. `tests/verbs/test_recipe.py` does all this.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

import bot.verbs
from bot.contracts.request import CONFLICT, Request, Tier
from bot.verbs.record import Earlier, Verb


def _found() -> dict[str, Verb]:
    names = {module.name for module in iter_modules(bot.verbs.__path__)} - {"record", "registry"}
    verbs: list[Verb] = [import_module(f"bot.verbs.{name}").VERB for name in names]
    return {verb.name: verb for verb in sorted(verbs, key=lambda verb: (verb.order, verb.name))}


VERBS: Mapping[str, Verb] = MappingProxyType(_found())
"""Every verb by its name, in the order of lists."""

NAMES = tuple(VERBS)
DEFAULT = next(verb.name for verb in VERBS.values() if verb.is_default)
"""The verb of a command that names none."""

INSTANT = tuple(verb.name for verb in VERBS.values() if verb.profile is None)
"""Verbs that are answered without a model and without reading the thread."""

MODEL_VERBS = tuple(verb.name for verb in VERBS.values() if verb.profile is not None)
READ_ONLY = tuple(verb.name for verb in VERBS.values() if verb.read_only)
STANDING_ALONE = tuple(name for name in MODEL_VERBS if VERBS[name].earlier is None)
"""Verbs that start a model and need nothing from earlier in the thread."""


def verbs_of(tier: Tier) -> frozenset[str]:
    """Return the verbs that `tier` may use by default."""
    if tier in (Tier.MAINTAINER, Tier.SCHEDULE, Tier.LOCAL):
        return frozenset(VERBS)
    return frozenset(verb.name for verb in VERBS.values() if tier in verb.tiers)


def started_by(cause: str) -> str:
    """Return the verb that an event with this cause requests without a command; the default if none names it."""
    return next((verb.name for verb in VERBS.values() if cause in verb.starts_on), DEFAULT)


def needs(name: str, earlier: Earlier) -> bool:
    """Whether the verb takes `earlier` from its thread."""
    return VERBS[name].earlier is earlier


def merges_base(request: Request) -> bool:
    """Whether the work tree of a request is the automatic merge of the base into the head of its pull request."""
    return request.round == CONFLICT or VERBS[request.verb].merges


def taking(earlier: Earlier) -> str:
    """Return the verb that takes `earlier` from its thread."""
    return next(verb.name for verb in VERBS.values() if verb.earlier is earlier)
