"""Compact a conversation that is about to fill the model's window (S-167, S-168).

First without the model: old results that it can request again, such as views of files and the output of edits,
are removed. If that is not enough, the task and the newest turns stay word for word, and one message replaces
the rest: the model's summary, the decisions of earlier summaries, and facts from the program: files read and
changed, the open list, the path of the whole transcript. A call is never separated from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from bot.agent.context_budget import tokens_of, tokens_of_text, usable_tokens
from bot.agent.message_history import REMOVED_RESULT
from bot.agent.prompt import new_marker, render
from bot.agent.receive import drain, with_timeout
from bot.agent.summary import carry_over_sections, transcript_text
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, Text, ToolResult, Usage
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, Provider
from bot.contracts.plain_text import quoted_names

RECENT_TOKENS = 20_000
MAX_PART = 2_000
MAX_SUMMARY = 4_096
"""Tokens."""

MAX_SHARE_AFTER = 0.7
"""A conversation that fills more of the window than this after a compaction cannot continue."""

MAX_OLD_RESULT = 1_000
"""Characters. Shorter old results are not removed."""

TARGET_SHARE = 0.6
"""Removing old results must reduce the conversation below this share of its capacity; otherwise it would soon
be due again."""

SMALL_SECONDS = 60.0
"""How long the small model may take for a summary."""

TRIES = 3
TRIES_WINDOW = 3
"""After `TRIES` compactions within this many turns the conversation makes no progress."""

_MAX_NAMES = 40
_SUMMARY_START, _FACTS_HEADING = "(The conversation before this was long", "\n## Known for sure\n"


class Files(NamedTuple):
    """Paths as the tools reported them, each once, in the order of first use."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class CompactionInput(NamedTuple):
    """`tokens` is the size of the conversation, `verbatim` are texts to keep word for word, `repeatable` the
    ids of calls whose results the model can request again."""

    turn: int
    tokens: int
    messages: Sequence[Message]
    files: Files
    verbatim: tuple[str, ...]
    repeatable: frozenset[str] = frozenset()


class DroppedResults(NamedTuple):
    """The results of these calls are removed; no summary is needed."""

    calls: tuple[str, ...]


class Summary(NamedTuple):
    """`text` replaces all messages between the first one and number `first_kept`. `transcript` is the file with
    the replaced text."""

    text: str
    first_kept: int
    usage: Usage = Usage()
    cost: float = 0.0
    transcript: str = ""


class CompactionFailure(NamedTuple):
    """The conversation cannot be compacted; `reason` is one sentence. The usage of the tries counts. `unavailable` is
    why the model could not be asked, if that is the reason."""

    reason: str
    usage: Usage = Usage()
    cost: float = 0.0
    unavailable: str = ""


class Compaction(Protocol):
    """When and how a conversation is compacted."""

    def due(self, turn: int, tokens: int) -> bool:
        """Whether a compaction is due before the request of `turn`, at a size of `tokens`."""
        ...

    def overflowed(self, turn: int, tokens: int) -> bool:
        """The model refused `tokens` as too many: whether a compaction may help."""
        ...

    def shorten(
        self, state: CompactionInput, cancel: CancelToken
    ) -> Summary | DroppedResults | CompactionFailure: ...

    def use(self, provider: Provider) -> None:
        """The conversation continues with `provider`, which may have another window."""
        ...


class SummaryCompaction:
    """Compaction by the session's own model, or by a `small` one whose window the text fits. `archive(text)` stores the
    transcript and returns where the model finds it; `price` is a response's cost in USD."""

    def __init__(
        self,
        provider: Provider,
        archive: Callable[[str], str] = lambda text: "",
        price: Callable[[Usage, ModelInfo], float] = lambda usage, info: info.cost(usage),
        small: Callable[[], Provider | None] = lambda: None,
    ) -> None:
        self._provider = provider
        self._small = small
        self._archive = archive
        self._price = price
        self._capacity = usable_tokens(provider.info)
        self._turns: list[int] = []
        self._overflowed_at = 0

    def use(self, provider: Provider) -> None:
        self._provider = provider
        self._capacity = usable_tokens(provider.info)

    def due(self, turn: int, tokens: int) -> bool:
        return tokens > self._capacity

    def overflowed(self, turn: int, tokens: int) -> bool:
        """True once for each request. The window is smaller than documented, so the capacity is reduced."""
        if self._overflowed_at == turn:
            return False
        self._overflowed_at = turn
        self._capacity = max(min(self._capacity, tokens * 4 // 5), 1)
        return True

    def shorten(
        self, state: CompactionInput, cancel: CancelToken
    ) -> Summary | DroppedResults | CompactionFailure:
        first_kept = split_index(state.messages, self._keep(state))
        dropped, freed = old_results(state.messages[1:first_kept], state.repeatable)
        if state.tokens - freed <= TARGET_SHARE * self._capacity:
            return DroppedResults(dropped)
        recent = [turn for turn in self._turns if state.turn - turn < TRIES_WINDOW]
        if len(recent) + 1 >= TRIES:
            return CompactionFailure(
                f"The conversation filled the model's window {TRIES} times within {TRIES_WINDOW} turns: what the task "
                "needs at once does not fit. Ask for a smaller part of it."
            )
        old = state.messages[1:first_kept]
        if not old:
            return CompactionFailure(
                "The conversation fills the model's window and holds nothing that could be left out. Ask for less at "
                "once, or take a model with a larger window."
            )
        usage, cost, summary, problem = self._summary(old, cancel)
        if isinstance(problem, Failed):
            reason = f"The conversation fills the model's window, and the summary failed: {problem.message}"
            return CompactionFailure(reason, usage, cost, problem.message)
        if not summary:
            return CompactionFailure(
                f"The conversation fills the model's window, and {TRIES} summaries failed: {problem}",
                usage,
                cost,
            )
        transcript = self._archive(transcript_text(state.messages[:first_kept]))
        text = compose_summary(carry_over_sections(summary, _last_summary(state.messages)), state, transcript)
        messages = [state.messages[0], Message("user", (Text(text),)), *state.messages[first_kept:]]
        tokens = sum(map(tokens_of, messages))
        if tokens > MAX_SHARE_AFTER * self._provider.info.context_window:
            return CompactionFailure(
                f"The conversation still holds about {tokens} tokens after it was summed up, too much for a window of "
                f"{self._provider.info.context_window}. Ask for less at once.",
                usage,
                cost,
            )
        self._turns.append(state.turn)
        return Summary(text, first_kept, usage, cost, transcript)

    def _keep(self, state: CompactionInput) -> int:
        """Return how many estimated tokens of the newest turns stay; fewer if the vendor counts more than the
        estimate."""
        estimated = sum(map(tokens_of, state.messages))
        keep = min(RECENT_TOKENS, self._capacity // 4)
        return keep * estimated // max(estimated, state.tokens)

    def _summary(self, old: Sequence[Message], cancel: CancelToken) -> tuple[Usage, float, str, str | Failed]:
        """Return the usage and cost of the tries, the summary, and the last problem if there is none: the failure if
        the model is unavailable."""
        text = _cut_middle(transcript_text(old, MAX_PART), self._capacity - MAX_SUMMARY)
        usage, cost, problem = Usage(), 0.0, ""
        small = self._small()
        if small is not None and tokens_of_text(text) > usable_tokens(small.info) - MAX_SUMMARY:
            small = None
        # The small model is tried once: its failure costs the run no more than the time until the next.
        for provider in (*((small,) if small else ()), *[self._provider] * TRIES):
            if cancel.fired:
                return usage, cost, "", "the run was canceled."
            token = with_timeout(cancel, SMALL_SECONDS) if provider is small else cancel
            response = self._ask(provider, text, token)
            if provider is small:
                token.fire("time")  # ends its timer
            response_usage = response.usage + response.discarded
            usage += response_usage
            cost += self._price(response_usage, provider.info)
            if not isinstance(response, Complete):
                if response.unavailable and provider is not small:
                    return usage, cost, "", response
                problem = response.message
                continue
            summary = response.message.text.strip()
            if not summary:
                problem = "the model's summary was empty."
            elif len(summary) >= max(len(text), 1):
                problem = "the model's summary was longer than what it sums up."
            else:
                return usage, cost, summary, ""
        return usage, cost, "", problem

    def _ask(self, provider: Provider, text: str, cancel: CancelToken) -> Complete | Failed:
        request = ModelRequest(
            render("summary"),
            (),
            (Message("user", (Text(render("sum_up", transcript=text, marker=new_marker())),)),),
            max_output=min(MAX_SUMMARY, provider.info.max_output),
        )
        return drain(provider, request, cancel)


def split_index(messages: Sequence[Message], keep: int) -> int:
    """Return the index of the first message to keep: the newest whole turns of at most `keep` tokens together.

    A turn begins with a response of the model, so that its results and the texts after them stay with it. If
    even the newest turn is too long, nothing is kept.
    """
    first, size = len(messages), 0
    for index in range(len(messages) - 1, 0, -1):
        size += tokens_of(messages[index])
        if size > keep:
            break
        if messages[index].role == "assistant":
            first = index
    return first


def old_results(messages: Sequence[Message], repeatable: frozenset[str]) -> tuple[tuple[str, ...], int]:
    """Return the calls among `repeatable` with long results in `messages`, and an estimate of the tokens that
    removing them frees."""
    results = [
        part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in repeatable and len(part.content) > MAX_OLD_RESULT
    ]
    freed = sum(tokens_of_text(part.content) - tokens_of_text(REMOVED_RESULT) for part in results)
    return tuple(part.call_id for part in results), freed


def compose_summary(summary: str, state: CompactionInput, transcript: str) -> str:
    """Return the message that replaces the removed ones."""
    facts = [
        f"Files read: {_names(state.files.read)}",
        f"Files changed: {_names(state.files.changed)}",
    ]
    if transcript:
        facts.append(f"The whole transcript so far, to be searched or viewed: {transcript}")
    verbatim = "\n\n".join(state.verbatim)
    return render(
        "compacted", summary=summary, known="\n".join(f"- {line}" for line in facts), verbatim=verbatim
    ).rstrip()


def _last_summary(messages: Sequence[Message]) -> str:
    """Return the summary of the last compaction; empty for none."""
    text = messages[1].text if len(messages) > 1 and messages[1].role == "user" else ""
    before, mark, _ = text.partition(_FACTS_HEADING)
    return before if mark and text.startswith(_SUMMARY_START) else ""


def _names(paths: Iterable[str]) -> str:
    newest_first = list(paths)[::-1]
    return quoted_names(newest_first, _MAX_NAMES) if newest_first else "none"


def _cut_middle(text: str, tokens: int) -> str:
    """Return `text` without its middle if it is over `tokens`."""
    if tokens_of_text(text) <= tokens:
        return text
    half = max(tokens, 2) * 3 // 2  # characters: three a token, half of them on each side
    return f"{text[:half]}\n\n[... {len(text) - 2 * half} characters are left out here ...]\n\n{text[-half:]}"
