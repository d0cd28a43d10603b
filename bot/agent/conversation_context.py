"""The input, the hooks and the result of one conversation."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bot.agent.journal import Journal
from bot.agent.limits import LimitShare, RequestState, SessionUsage, Stop
from bot.agent.toolbox import Masking, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import Record
from bot.contracts.messages import ToolCall, Usage
from bot.contracts.model import Provider, Retrying
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits


class Files(NamedTuple):
    """Paths as the tools reported them, each once, in the order of first use."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class TurnInfo(NamedTuple):
    """One finished turn. `state` is that of the next request, `shares` the used shares of the limits. `failed`: a call
    was refused or failed, or a command exited with another code than 0."""

    calls: tuple[ToolCall, ...]
    state: RequestState
    shares: tuple[LimitShare, ...]
    failed: bool


class Hooks(NamedTuple):
    """Callbacks from the loop, called on its thread: they must be quick and must not raise, except `before_end` and
    `is_handover`, which run the gate and the checks.

    `request_sent(turn)` is called before the wait for the response, `retrying(event)` before the wait for another
    attempt, `idle(text)` from another thread while nothing comes. `more_work(info)` is called when the model is done: a
    text is the next part of its task. Then `before_end()` is called: a text is sent to the model and the conversation
    continues, at most twice; `None` lets it end. `stop_after_call()` is called after each call: a stop ends the
    conversation, and the remaining calls are not run. `is_handover(info)` is called after a turn's calls: if the turn
    handed over the run's result, the conversation ends as if the model were done. Otherwise `after_results(info)`
    returns texts that follow the turn's results, for the model only. `verbatim_texts()` returns texts that a compaction
    keeps word for word. While `has_result()`, the conversation is not compacted, except if the model's API refuses it
    as too long.
    """

    request_sent: Callable[[int], None] = lambda turn: None
    more_work: Callable[[TurnInfo], str] = lambda info: ""
    before_end: Callable[[], str | None] = lambda: None
    retrying: Callable[[Retrying], None] = lambda event: None
    idle: Callable[[str], None] = lambda text: None
    stop_after_call: Callable[[], Stop | None] = lambda: None
    is_handover: Callable[[TurnInfo], bool] = lambda info: False
    after_results: Callable[[TurnInfo], Sequence[str]] = lambda info: ()
    verbatim_texts: Callable[[], Sequence[str]] = lambda: ()
    has_result: Callable[[], bool] = lambda: False


class ConversationContext(NamedTuple):
    """Everything one conversation needs, injected.

    `journal` has its header already; `system` and the tools are frozen for the whole conversation. `stop_on_denial` is
    the policy's `on_deny: stop`. `archive(text)` stores a text and returns where the model finds it; `small()` returns
    the small model, `None` without one. `identity` is the vendor's cache key. `shared_usage` is shared with other
    conversations, `own_turn_limit` is a limit for this one alone; `start_time` is the start of the time limit by
    `clock`. `agent` is the name of a subagent, which reports its own usage;
    others report the shared usage. `masking` says which tools may be called now. `fallback(reason)` returns the
    provider that replaces an unavailable one for the rest of the run, `None` if there is none. `effort` is the wanted
    one of `bot.contracts.model.EFFORTS`, empty for the model's own. `slow_checks()`: the checks take so long that a
    cached prefix expires meanwhile.
    """

    provider: Provider
    system: str
    toolbox: Toolbox
    journal: Journal
    limits: RunLimits
    cancel: CancelToken
    hooks: Hooks = Hooks()
    stop_on_denial: bool = False
    clock: Callable[[], float] = time.monotonic
    archive: Callable[[str], str] = lambda text: ""
    small: Callable[[], Provider | None] = lambda: None
    identity: str = ""
    shared_usage: SessionUsage | None = None
    own_turn_limit: int | None = None
    start_time: float = 0.0
    agent: str = ""
    masking: Masking = lambda state: None
    fallback: Callable[[str], Provider | None] = lambda reason: None
    effort: str = ""
    slow_checks: Callable[[], bool] = lambda: False

    def write(self, record: Record) -> None:
        """Append a line to the journal."""
        self.journal.write(record, self.agent)


class LoopEnd(NamedTuple):
    """The result of a conversation. `reason` is one sentence; `final_text` the model's last text; `cost` in
    USD; `files` those that tools reported as read or changed."""

    stop: StopReason
    reason: str
    turns: int
    usage: Usage
    cost: float
    final_text: str
    files: Files = Files()
