"""What one conversation is given, tells its host, and comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bot.agent.allowance import Share
from bot.agent.compaction import Compaction, Files
from bot.agent.finish import Stop
from bot.agent.journal import Journal, SubJournal
from bot.agent.masking import Masking, State, no_mask
from bot.agent.spent import Spent
from bot.agent.toolbox import Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Retrying
from bot.contracts.limits import Limits
from bot.contracts.messages import Message, ToolCall, ToolResult, Usage
from bot.contracts.model import ModelInfo, Provider
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolSpec


class TurnInfo(NamedTuple):
    """One finished turn. `usage` and `cost` are the session's so far; `denied` are the ids of the calls that were;
    `state` is that of the next request, `shares` how far the limits are used. `failed` is true if a call was refused or
    failed, or a command ended with another exit code than 0."""

    turn: int
    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    usage: Usage
    cost: float
    denied: frozenset[str]
    state: State = State(None)
    shares: tuple[Share, ...] = ()
    failed: bool = False


class Hooks(NamedTuple):
    """What the host wants to know or say. Called on the loop's thread: they must be quick and must not raise.

    `request_sent(turn)` comes as the request goes out, just before the wait for its answer begins.
    `before_end()` is asked when the model says that it is done: a text is put to the model and the session
    goes on, at most twice; `None` lets it end. `retrying(event)` comes before a wait for the model's API.
    `wants_end()` is asked once a turn's calls are answered: a stop ends the session there. `hands_over(info)` is asked
    next: if the turn handed over the result of the run, the session ends as if the model had said that it is done. If
    it goes on, `after_results(info)` gives texts that follow the results of that turn, for the model alone.
    `carried()` gives the texts that must be kept word for word when the conversation is made shorter; it is not made
    shorter while `has_result()`, except if the model's API refuses it as too long.
    """

    request_sent: Callable[[int], None] = lambda turn: None
    turn_done: Callable[[TurnInfo], None] = lambda info: None
    before_end: Callable[[], str | None] = lambda: None
    retrying: Callable[[Retrying], None] = lambda event: None
    wants_end: Callable[[], Stop | None] = lambda: None
    hands_over: Callable[[TurnInfo], bool] = lambda info: False
    after_results: Callable[[TurnInfo], Sequence[str]] = lambda info: ()
    carried: Callable[[], Sequence[str]] = lambda: ()
    has_result: Callable[[], bool] = lambda: False


class Session(NamedTuple):
    """Everything one conversation needs, injected.

    `journal` has its header already; `system` and the tools stay as they are for the whole session (invariant
    3). `stop_on_denial` is the policy's `on_deny: stop`; `price` says what a response cost, in USD. Without
    `compaction` the conversation ends where it no longer fits the model's window. `identity` names the session to the
    vendor's cache. `purse` is what this session shares with others, `own_turns` a limit for itself alone; `began` is
    when the minutes began by `clock`, where that was not with this session. A `part` reports what it used itself,
    others what the purse lost. `masking` says which tools may be called now. `before` are
    the messages of a run that is gone on with, and `tools` what it was shown of its tools, byte for byte (S-050).
    `lent` is who answers the next request in place of `provider`, `None` for nobody (S-141).
    """

    provider: Provider
    system: str
    toolbox: Toolbox
    journal: Journal | SubJournal
    limits: Limits
    cancel: CancelToken
    hooks: Hooks = Hooks()
    stop_on_denial: bool = False
    price: Callable[[Usage, ModelInfo], float] = lambda usage, info: info.cost(usage)
    clock: Callable[[], float] = time.monotonic
    compaction: Compaction | None = None
    identity: str = ""
    purse: Spent | None = None
    own_turns: int | None = None
    began: float | None = None
    part: bool = False
    masking: Masking = no_mask
    before: Sequence[Message] = ()
    tools: tuple[ToolSpec, ...] | None = None
    lent: Callable[[], Provider | None] = lambda: None

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them. What a call does is the toolbox's alone."""
        return self.toolbox.specs if self.tools is None else self.tools


class LoopEnd(NamedTuple):
    """How it ended. `reason` is one sentence; `final_text` the last thing the model said; `cost` in USD; `files` those
    that its tools said they read or changed."""

    stop: StopReason
    reason: str
    turns: int
    usage: Usage
    cost: float
    final_text: str
    files: Files = Files()
