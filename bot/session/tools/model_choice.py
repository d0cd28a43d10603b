"""The models of one run: the one that answers, those that replace it when it is unavailable, and the small one."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.agent.journal import read_journal
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.model import Provider
from bot.contracts.request import Tier
from bot.policy.model_settings import ModelSettings
from bot.providers.connect import apply_overrides, check_model, connect
from bot.providers.models import effort_notes
from bot.providers.replay import RECORDED, ReplayProvider
from bot.session.context.run import Run


class RunModels:
    """`notes` are those of the start for people, `small` is the name of the small model, empty for none. A model that
    replaces another does so for every conversation that begins later, too."""

    def __init__(self, run: Run, first: Provider) -> None:
        """`first` is the provider of the run's model."""
        self.notes: list[str] = []
        self.run = run
        self._opened: list[Provider] = []
        settings = run.policy.model_settings.of(run.request.verb, run.tier, run.task.name if run.task else "")
        if run.model.startswith(RECORDED):
            settings = ModelSettings()  # a recording needs no network
        self.effort = settings.effort or ""
        self.names = (run.model, *self._usable(settings.fallback or (), "fallback"))
        self.position = 0  # of the model in `names` that answers now
        self.small = next(self._usable((settings.small,) if settings.small else (), "small"), "")
        self.notes += effort_notes(first.info, self.effort)
        run.keep(*self.notes)

    def next_after(self, position: int, reason: str) -> tuple[int, Provider | None]:
        """Return the provider that replaces the model at `position`, which is unavailable for `reason`, and its own
        position; `None` if there is none."""
        while True:
            position = max(position + 1, self.position)
            self.position = min(position, len(self.names) - 1)
            if position >= len(self.names):
                return position, None
            name = self.names[position]
            try:
                provider = self.open(name)
            except AgentError as error:
                self.run.keep(f"The fallback {name} is left out: {_clause(error)}.")
                continue
            self.run.keep(f"{reason.rstrip('.')}: {name} answers from here on.")
            self.run.keep(*effort_notes(provider.info, self.effort))
            return position, provider

    def close(self) -> None:
        for provider in self._opened:
            provider.close()

    def _usable(self, names: tuple[str, ...], key: str) -> Iterator[str]:
        """Yield the models of the policy that can be asked, and note why the others cannot.

        At a terminal the policy may be a stranger's: it sends nothing to a server that the person did not choose.
        """
        run = self.run
        own = run.model.partition("/")[0]
        for name in names:
            try:
                if name.startswith(RECORDED):
                    raise UsageError("there is no such model here")
                if run.tier is Tier.LOCAL and name.partition("/")[0] != own:
                    raise UsageError(
                        f"a policy cannot send your work to another provider than {own or 'yours'}"
                    )
                check_model(name, run.environment)
            except AgentError as error:
                self.notes.append(
                    f"`model_settings: {key}` names {name}, which is left out: {_clause(error)}."
                )
            else:
                yield name

    def open(self, name: str) -> Provider:
        """Return a new provider, which `close` closes."""
        provider = apply_overrides(connect_model(name, self.run.environment), self.run.policy.models)
        self._opened.append(provider)
        return provider


class ConversationModel:
    """The model of one conversation, which may be replaced."""

    def __init__(self, models: RunModels, provider: Provider | None = None) -> None:
        """`provider` is the run's own; without it, a new one of the model that answers now is used."""
        self._models = models
        self._position = 0 if provider else models.position
        self.provider = provider or models.open(models.names[models.position])
        self._small: Provider | None = None

    def fall_back(self, reason: str) -> Provider | None:
        """Return the provider that replaces the unavailable one, `None` if there is none."""
        self._position, provider = self._models.next_after(self._position, reason)
        self.provider = provider or self.provider
        return provider

    def small(self) -> Provider | None:
        """Return the small model, connected when it is first asked for; `None` without one."""
        if self._small is None and self._models.small:
            try:
                self._small = self._models.open(self._models.small)
            except AgentError as error:
                self._models.small = ""
                self._models.run.keep(f"The small model is left out: {_clause(error)}.")
        return self._small


def _clause(error: AgentError) -> str:
    return " ".join(str(error).rstrip(".").split())[:300]


def connect_model(model: str, environment: Mapping[str, str]) -> Provider:
    """The provider for `provider/name`; `replay/PATH` plays the responses of the journal at PATH.

    Imports the vendor's package: call it on a thread of its own.
    """
    if model.startswith(RECORDED):
        recorded = read_journal(Path(model.removeprefix(RECORDED)))
        return ReplayProvider(recorded.responses(), recorded.header.info)
    return connect(model, environment)
