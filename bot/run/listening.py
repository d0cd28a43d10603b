"""What the host says to the model of a run in between, and what it hears from the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.agent.allowance import Told
from bot.agent.finish import Stop
from bot.agent.masking import left_soon
from bot.agent.session import Hooks, TurnInfo
from bot.agent.todo import rendered
from bot.contracts.events import Retrying
from bot.run.agent_workshop import AgentWorkshop
from bot.run.profiles import FINAL, Profile
from bot.run.results import Results
from bot.run.rounds import Rounds
from bot.run.skills import RunSkills
from bot.run.stop_hook import StopHook


class Listening:
    """`turn` is the number of the request that went out last."""

    def __init__(
        self, workshop: AgentWorkshop, rounds: Rounds, results: Results, skills: RunSkills, stop_hook: StopHook,
        profile: Profile, watch: Callable[[TurnInfo], None], say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.turn = 0
        self._workshop = workshop
        self._rounds = rounds
        self._results = results
        self._skills = skills
        self._stop_hook = stop_hook
        self._profile = profile
        self._watch = watch
        self._say = say
        self._told = Told()

    def hooks(self) -> Hooks:
        return Hooks(
            request_sent=self._request_sent,
            turn_done=self._watch,
            before_end=self._before_end,
            retrying=self._retrying,
            wants_end=self._wants_end,
            hands_over=self._hands_over,
            after_results=self._after_results,
            carried=self._carried,
            has_result=self._has_result,
        )

    def _request_sent(self, turn: int) -> None:
        self._workshop.scan_meanwhile()
        self.turn = turn
        if turn == 1:
            self._rounds.start_before()

    def _before_end(self) -> str | None:
        self._skills.end_turn()
        return self._stop_hook.before_end()

    def _retrying(self, event: Retrying) -> None:
        self._say(f"{event.reason}; asking again in {event.delay:.0f} s")

    def _wants_end(self) -> Stop | None:
        return self._results.ask.stop()

    def _hands_over(self, info: TurnInfo) -> bool:
        """Whether the turn ends with a hand-over and holds no result that the model must see. Before anything is
        changed, a description hands over nothing."""
        if info.failed or not info.calls or info.calls[-1].name not in FINAL:
            return False
        return self._profile.read_only or self._stop_hook.changed()

    def _has_result(self) -> bool:
        """Whether what the run is for was handed over: what may follow is a check to fix, not new work."""
        return bool(self._results.describe.description.title) or self._results.submit.plan is not None

    def _after_results(self, info: TurnInfo) -> Sequence[str]:
        recalled = self._results.todo.recall(info.calls)
        left = left_soon(info.state, self._profile.results)
        used = self._told.due(info.shares)
        return (*self._skills.after_results(), *(text for text in (recalled, left, used) if text))

    def _carried(self) -> Sequence[str]:
        """What a shorter conversation keeps word for word."""
        todo = self._results.todo
        listed = (f"Your list:\n{rendered(todo.items)}",) if todo.items else ()
        return (*listed, *self._skills.carried())
