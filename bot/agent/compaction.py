"""Makes a conversation shorter that is about to fill the model's window (S-167, S-168).

First without the model: old results that it can have again, such as views of files and what edits printed, are left
out. If that is not enough, the task stays word for word, and so do the newest turns; what lies between becomes one
message: the model's own summary, what earlier ones decided, and what the program knows better than any summary: files
read and changed, the open list, where the whole transcript is. A call is never parted from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from bot.agent.decided import with_earlier
from bot.agent.history import LEFT_OUT
from bot.agent.prompt import new_marker, render
from bot.agent.receive import drained
from bot.agent.transcript import as_text
from bot.agent.window import room, tokens_of, tokens_of_text
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Failed
from bot.contracts.messages import Message, Text, ToolResult, Usage
from bot.contracts.model import ModelInfo, ModelRequest, Provider
from bot.contracts.plain_text import quoted_names

KEPT_TOKENS = 20_000
LONGEST_PART = 2_000
LONGEST_SUMMARY = 4_096
"""In tokens; what the summary of a conversation may be at most."""

FULL_AFTER = 0.7
"""A conversation that fills more of the window than this just after it was made shorter cannot go on."""

LONG_RESULT = 1_000
"""Characters up to which an old result stays."""

ENOUGH = 0.6
"""Leaving out old results must bring the conversation under this share of its room, else it would be due again soon."""

TRIES = 3
AGAIN_WITHIN = 3
"""So many compactions within so many turns and the conversation gets nowhere."""

_NAMED = 40
_SUMMED_UP, _KNOWN = "(The conversation before this was long", "\n## Known for sure\n"


class Files(NamedTuple):
    """Paths as the tools reported them, each once, in the order of their first use."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class Situation(NamedTuple):
    """What is known when the conversation must become shorter: `held` is how many tokens it holds, `carried` are
    texts to keep word for word, `again` the ids of the calls whose results the model can have again."""

    turn: int
    held: int
    messages: Sequence[Message]
    files: Files
    carried: tuple[str, ...]
    again: frozenset[str] = frozenset()


class Dropped(NamedTuple):
    """The results of these calls are left out of the conversation; it needs no summary."""

    calls: tuple[str, ...]


class Shortened(NamedTuple):
    """The result: `text` replaces everything between the first message and number `first_kept`. `transcript` is the
    file that holds what was replaced."""

    text: str
    first_kept: int
    usage: Usage = Usage()
    cost: float = 0.0
    transcript: str = ""


class Stuck(NamedTuple):
    """The conversation cannot be made shorter; `reason` is one sentence. What the tries used is used all the same."""

    reason: str
    usage: Usage = Usage()
    cost: float = 0.0


class Compaction(Protocol):
    """When and how a conversation becomes shorter."""

    def due(self, turn: int, held: int) -> bool:
        """Whether it must be done before the request of `turn`, the conversation holding `held` tokens."""
        ...

    def overflowed(self, turn: int, held: int) -> bool:
        """The model refused `held` tokens as too many: whether a shorter conversation is worth a try."""
        ...

    def shorten(self, situation: Situation, cancel: CancelToken) -> Shortened | Dropped | Stuck: ...


class Summaries:
    """Compaction by the session's own model. `archive(text)` keeps the transcript and says where the model finds
    it; `price` is what a response cost, in USD."""

    def __init__(
        self,
        provider: Provider,
        archive: Callable[[str], str] = lambda text: "",
        price: Callable[[Usage, ModelInfo], float] = lambda usage, info: info.cost(usage),
    ) -> None:
        self._provider = provider
        self._archive = archive
        self._price = price
        self._room = room(provider.info)
        self._done_at: list[int] = []
        self._overflowed_at = 0

    def due(self, turn: int, held: int) -> bool:
        return held > self._room

    def overflowed(self, turn: int, held: int) -> bool:
        """Once for one request; the window is smaller than it was said to be, so less is held from now on."""
        if self._overflowed_at == turn:
            return False
        self._overflowed_at = turn
        self._room = max(min(self._room, held * 4 // 5), 1)
        return True

    def shorten(self, situation: Situation, cancel: CancelToken) -> Shortened | Dropped | Stuck:
        first_kept = cut(situation.messages, self._keep(situation))
        dropped, freed = old_results(situation.messages[1:first_kept], situation.again)
        if situation.held - freed <= ENOUGH * self._room:
            return Dropped(dropped)
        recent = [turn for turn in self._done_at if situation.turn - turn < AGAIN_WITHIN]
        if len(recent) + 1 >= TRIES:
            return Stuck(
                f"The conversation filled the model's window {TRIES} times within {AGAIN_WITHIN} turns: what the task "
                "needs at once does not fit. Ask for a smaller part of it."
            )
        old = situation.messages[1:first_kept]
        if not old:
            return Stuck(
                "The conversation fills the model's window and holds nothing that could be left out. Ask for less at "
                "once, or take a model with a larger window."
            )
        usage, cost, summary, trouble = self._summary(old, cancel)
        if not summary:
            return Stuck(
                f"The conversation fills the model's window, and {TRIES} summaries failed: {trouble}",
                usage,
                cost,
            )
        transcript = self._archive(as_text(situation.messages[:first_kept]))
        text = composed(with_earlier(summary, _last_summary(situation.messages)), situation, transcript)
        kept = [situation.messages[0], Message("user", (Text(text),)), *situation.messages[first_kept:]]
        held = sum(map(tokens_of, kept))
        if held > FULL_AFTER * self._provider.info.context_window:
            return Stuck(
                f"The conversation still holds about {held} tokens after it was summed up, too much for a window of "
                f"{self._provider.info.context_window}. Ask for less at once.",
                usage, cost,
            )  # fmt: skip
        self._done_at.append(situation.turn)
        return Shortened(text, first_kept, usage, cost, transcript)

    def _keep(self, situation: Situation) -> int:
        """How many estimated tokens of the newest turns stay; fewer where the vendor counts more than we do."""
        estimated = sum(map(tokens_of, situation.messages))
        keep = min(KEPT_TOKENS, self._room // 4)
        return keep * estimated // max(estimated, situation.held)

    def _summary(self, old: Sequence[Message], cancel: CancelToken) -> tuple[Usage, float, str, str]:
        """What the tries used and cost, the summary, and the last trouble where there is none."""
        text = _fitted(as_text(old, LONGEST_PART), self._room - LONGEST_SUMMARY)
        usage, cost, trouble = Usage(), 0.0, ""
        for _ in range(TRIES):
            if cancel.fired:
                return usage, cost, "", "the run was canceled."
            answer = self._ask(text, cancel)
            used = answer.usage + answer.dropped
            usage += used
            cost += self._price(used, self._provider.info)
            if not isinstance(answer, Complete):
                trouble = answer.message
                continue
            summary = answer.message.text.strip()
            if not summary:
                trouble = "the model's summary was empty."
            elif len(summary) >= max(len(text), 1):
                trouble = "the model's summary was longer than what it sums up."
            else:
                return usage, cost, summary, ""
        return usage, cost, "", trouble

    def _ask(self, text: str, cancel: CancelToken) -> Complete | Failed:
        request = ModelRequest(
            render("summary"), (), (Message("user", (Text(render("sum_up", transcript=text, marker=new_marker())),)),),
            max_output=min(LONGEST_SUMMARY, self._provider.info.max_output),
        )  # fmt: skip
        return drained(self._provider, request, cancel)


def cut(messages: Sequence[Message], keep: int) -> int:
    """The index of the first message to keep: the newest whole turns of at most `keep` tokens together.

    A turn begins with an answer of the model, so that its results and what followed them stay with it. Where even
    the newest turn is too long, nothing is kept.
    """
    first, size = len(messages), 0
    for index in range(len(messages) - 1, 0, -1):
        size += tokens_of(messages[index])
        if size > keep:
            break
        if messages[index].role == "assistant":
            first = index
    return first


def old_results(messages: Sequence[Message], again: frozenset[str]) -> tuple[tuple[str, ...], int]:
    """The calls among `again` with long results in `messages`, and about how many tokens leaving these out frees."""
    long = [
        part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in again and len(part.content) > LONG_RESULT
    ]
    freed = sum(tokens_of_text(part.content) - tokens_of_text(LEFT_OUT) for part in long)
    return tuple(part.call_id for part in long), freed


def composed(summary: str, situation: Situation, transcript: str) -> str:
    """The one message that stands for what was left out."""
    known = [
        f"Files read: {_names(situation.files.read)}",
        f"Files changed: {_names(situation.files.changed)}",
    ]
    if transcript:
        known.append(f"The whole transcript so far, to be searched or viewed: {transcript}")
    carried = "\n\n".join(situation.carried)
    return render(
        "compacted", summary=summary, known="\n".join(f"- {line}" for line in known), carried=carried
    ).rstrip()


def _last_summary(messages: Sequence[Message]) -> str:
    """What the conversation was summed up as the last time; empty where it never was."""
    text = messages[1].text if len(messages) > 1 and messages[1].role == "user" else ""
    before, mark, _ = text.partition(_KNOWN)
    return before if mark and text.startswith(_SUMMED_UP) else ""


def _names(paths: Iterable[str]) -> str:
    newest_first = list(paths)[::-1]
    return quoted_names(newest_first, _NAMED) if newest_first else "none"


def _fitted(text: str, tokens: int) -> str:
    """The text, its middle left out where it is over `tokens`."""
    if tokens_of_text(text) <= tokens:
        return text
    half = max(tokens, 2) * 3 // 2  # characters: three a token, half of them on each side
    return f"{text[:half]}\n\n[... {len(text) - 2 * half} characters are left out here ...]\n\n{text[-half:]}"
