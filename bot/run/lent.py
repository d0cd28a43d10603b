"""The model that a skill asked for: whether it may have it, and who answers while the skill has the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from bot.contracts.errors import AgentError
from bot.contracts.model import ModelOverride, Provider
from bot.policy.schema import Policy
from bot.providers.connect import adapted
from bot.run.models import RECORDED

Connect = Callable[[str], Provider]


class LentModels:
    """For one conversation. `own` gives its model as people write it; `connect` makes a provider by a model's name,
    `None` where there is no other than its own."""

    def __init__(self, own: Callable[[], str], policy: Policy, connect: Connect | None) -> None:
        self._own = own
        self._allowed = policy.options.models
        self._overrides: Mapping[str, ModelOverride] = policy.models
        self._connect = connect
        self._made: dict[str, Provider] = {}
        self._now: Provider | None = None

    def of_another(self) -> LentModels:
        """The same for another conversation: a provider is for one."""
        made = object.__new__(LentModels)
        made._own, made._allowed, made._overrides = self._own, self._allowed, self._overrides
        made._connect, made._made, made._now = self._connect, {}, None
        return made

    @property
    def provider(self) -> Provider | None:
        """Who answers in place of the conversation's own model; `None` for nobody."""
        return self._now

    def is_own(self, name: str) -> bool:
        own = self._own()
        return name in ("", "inherit", own, own.partition("/")[2])

    def refusal(self, name: str) -> str:
        """Why a skill does not get the model `name`, as a clause; empty where it does, and then it is connected."""
        if not self._allowed:
            return "the policy's `options: models` lists none that a skill may have"
        if name.startswith(RECORDED) or not any(fnmatchcase(name, one) for one in self._allowed):
            return "the policy's `options: models` does not list it"
        if self._connect is None:
            return "there is no other model here"
        if name not in self._made:
            try:
                self._made[name] = adapted(self._connect(name), self._overrides)
            except AgentError as error:
                return " ".join(str(error).rstrip(".").split())[:200]
        return ""

    def begin(self, name: str) -> None:
        """From the next request on; back to the conversation's own where `name` is that, or was refused."""
        self._now = None if self.is_own(name) else self._made.get(name)

    def end(self) -> None:
        self._now = None

    def close(self) -> None:
        self._now = None
        for provider in self._made.values():
            provider.close()
        self._made = {}
