"""`LoopHooks`: what a run does between the loop's steps, and what it tells the model there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.agent.conversation_context import Hooks, TurnInfo
from bot.agent.finish import Stop
from bot.agent.masking import requests_left_notice
from bot.agent.todo import render_list
from bot.agent.usage import LimitReminder
from bot.contracts.model import Retrying
from bot.session.checks.rounds import Rounds
from bot.session.context.profiles import FINAL, Profile
from bot.session.hooks.stop_hook import StopHook
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.skills import RunSkills
from bot.session.tools.toolbox import CallTracker
from bot.session.workspaces.agent_workspace import AgentWorkspace


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopHooks:
    """Callbacks of a run's loop. `calls` is told the number of each request, `watch` each finished turn."""

    workspace: AgentWorkspace
    rounds: Rounds
    results: ResultTools
    skills: RunSkills
    stop_hook: StopHook
    profile: Profile
    calls: CallTracker
    watch: Callable[[TurnInfo], None]
    say: Callable[[str], None]
    _limit_reminder: LimitReminder = field(default_factory=LimitReminder, init=False)

    def hooks(self) -> Hooks:
        return Hooks(
            request_sent=self._request_sent,
            turn_done=self.watch,
            before_end=self._before_end,
            retrying=self._retrying,
            stop_after_call=self._wants_end,
            is_handover=self._hands_over,
            after_results=self._after_results,
            verbatim_texts=self._carried,
            has_result=self._has_result,
        )

    def _request_sent(self, turn: int) -> None:
        self.workspace.scan_meanwhile()
        self.calls.turn = turn
        if turn == 1:
            self.rounds.start_before()

    def _before_end(self) -> str | None:
        self.skills.end_turn()
        return self.stop_hook.before_end()

    def _retrying(self, event: Retrying) -> None:
        self.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    def _wants_end(self) -> Stop | None:
        return self.results.ask.stop()

    def _hands_over(self, info: TurnInfo) -> bool:
        """Whether the turn ends with the run's result and no other result needs the model. Before anything is changed,
        a description is no result."""
        if info.failed or not info.calls or info.calls[-1].name not in FINAL:
            return False
        return self.profile.read_only or self.stop_hook.changed()

    def _has_result(self) -> bool:
        """Whether the run's result is submitted: what may follow is a check to fix, not a new task."""
        return bool(self.results.describe.description.title) or self.results.submit.plan is not None

    def _after_results(self, info: TurnInfo) -> Sequence[str]:
        recalled = self.results.todo.reminder(info.calls)
        left = requests_left_notice(info.state, self.profile.results)
        used = self._limit_reminder.reminder(info.shares)
        return (*self.skills.after_results(), *(text for text in (recalled, left, used) if text))

    def _carried(self) -> Sequence[str]:
        """What a compacted conversation keeps word for word."""
        todo = self.results.todo
        listed = (f"Your list:\n{render_list(todo.items)}",) if todo.items else ()
        return (*listed, *self.skills.carried())
