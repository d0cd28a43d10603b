"""The hooks of every conversation, the main one and those of subagents: progress lines and reminders of limits."""

from collections.abc import Sequence

from bot.agent.conversation_context import Hooks, TurnInfo
from bot.agent.limits import LimitReminder, requests_left_notice
from bot.contracts.model import Retrying
from bot.session.context.run import Run
from bot.session.tools.toolbox import CallTracker


def conversation_hooks(run: Run, calls: CallTracker, results: Sequence[str] = ()) -> Hooks:
    """The hooks that every conversation has. `results` are the tools that submit the run's result."""
    limit_reminder = LimitReminder()

    def say(text: str) -> None:
        agent = calls.position.agent
        run.say(f"{agent}: {text}" if agent else text)

    def request_sent(turn: int) -> None:
        calls.position = calls.position._replace(turn=turn)
        if calls.position.agent:
            say(f"turn {turn}")

    def after_results(info: TurnInfo) -> list[str]:
        due = (requests_left_notice(info.state, results), limit_reminder.reminder(info.shares))
        return [text for text in due if text]

    def retrying(event: Retrying) -> None:
        run.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    return Hooks(request_sent=request_sent, retrying=retrying, after_results=after_results, idle=say)
