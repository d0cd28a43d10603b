"""The subagents of one run: which there are under the verb, and what each is given of the run's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.agent.allowance import Told
from bot.agent.compaction import Summaries
from bot.agent.journal import Journal
from bot.agent.masking import last_request_hands_over
from bot.agent.prompt import system_prompt
from bot.agent.session import Hooks, Session, TurnInfo
from bot.agent.spent import Spent
from bot.agent.subagents import TYPES, AgentType, Subagents
from bot.agent.todo import Todo, rendered
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Retrying
from bot.contracts.model import Provider
from bot.providers.connect import of_the_same_model
from bot.providers.models import cost
from bot.run.agent_workshop import AgentWorkshop
from bot.run.archive import Archive
from bot.run.profiles import TODO, Profile
from bot.run.results import ResultTool
from bot.run.skills import RunSkills
from bot.run.tools import Gatekeeper, RunToolbox
from bot.run.waits import WatchedProvider
from bot.workshop.client.specs import TOOL_SPECS

_READING = frozenset(spec.name for spec in TOOL_SPECS if not spec.writes)
"""By the tools' own flag: a shell writes, whatever it is used for."""


class RunSubagents:
    """`connect` makes a provider; `begin` must be called with the run's session before the first call."""

    def __init__(
        self, connect: Callable[[], Provider], workshop: AgentWorkshop, gatekeeper: Gatekeeper, profile: Profile,
        journal: Journal, archive: Archive, say: Callable[[str], None], place: Callable[[], tuple[int, str]],
        skills: RunSkills,
    ) -> None:  # fmt: skip
        self._connect = connect
        self._workshop = workshop
        self._gatekeeper = gatekeeper
        self._profile = profile
        self._journal = journal
        self._archive = archive
        self._say = say
        self._skills = skills
        self._session: Session | None = None
        types = tuple(kind for kind in TYPES if kind.read_only or not profile.read_only)
        self.tool = Subagents(types, self._prepare, place, archive)

    def begin(self, session: Session) -> Session:
        """The run's session with the purse and the clock that are shared from now on."""
        self._session = session._replace(purse=Spent(), began=session.clock())
        return self._session

    def _prepare(self, name: str, kind: AgentType, cancel: CancelToken) -> Session:
        run = self._session
        assert run is not None
        profile = narrowed(self._profile, kind)
        skills = self._skills.of_agent()
        if not kind.read_only:
            profile = skills.offered_by(profile)
        journal = self._journal.of(name)
        turns = _Turns(lambda turn: self._say(f"{name}: turn {turn}"))
        todo, told = Todo(), Told()
        own: dict[str, ResultTool] = {tool.spec.name: tool for tool in skills.tools}
        own[TODO] = todo
        toolbox = RunToolbox(
            self._workshop,
            self._gatekeeper.of_agent(profile, journal.write, skills.grants.why, name),
            profile,
            tuple(own[aid] for aid in profile.aids),
            lambda: turns.now,
            agent=name,
        )

        def after_results(info: TurnInfo) -> list[str]:
            due = (todo.recall(info.calls), told.due(info.shares))
            return [*skills.after_results(), *(text for text in due if text)]

        def carried() -> list[str]:
            listed = [f"Your list:\n{rendered(todo.items)}"] if todo.items else []
            return [*listed, *skills.carried()]

        provider = WatchedProvider(
            of_the_same_model(self._connect(), run.provider), lambda line: self._say(f"{name}: {line}")
        )
        return run._replace(
            provider=provider,
            system=system_prompt(kind.prompt, toolbox.specs),
            toolbox=toolbox,
            journal=journal,
            cancel=cancel,
            hooks=Hooks(
                request_sent=turns,
                retrying=self._retrying,
                after_results=after_results,
                carried=carried,
            ),
            compaction=Summaries(provider, self._archive, cost),
            identity=f"{run.identity}-{name}",
            own_turns=kind.turns,
            part=True,
            masking=last_request_hands_over(()),
            before=(),
            tools=None,
            lent=lambda: skills.models.provider,
        )

    def _retrying(self, event: Retrying) -> None:
        self._say(f"{event.reason}; asking again in {event.delay:.0f} s")


def narrowed(profile: Profile, kind: AgentType) -> Profile:
    """What a subagent of `kind` is given of the run's tools. What a run hands over stays with the run itself."""
    if kind.read_only:
        tools = tuple(name for name in profile.tools if name in _READING)
        return replace(profile, tools=tools, results=(), aids=(), read_only=True)
    return replace(profile, results=(), aids=(TODO,))


class _Turns:
    """Which turn of its own a subagent is at."""

    def __init__(self, say: Callable[[int], None]) -> None:
        self.now = 0
        self._say = say

    def __call__(self, turn: int) -> None:
        self.now = turn
        self._say(turn)
