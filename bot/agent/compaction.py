"""Compact a conversation that is about to fill the model's window (S-167, S-168).

The task and the newest turns stay word for word, and one message replaces the rest: the model's summary, and facts from
the program: files read and changed, the open list, the path of the whole transcript. A call is never separated from its
result.
"""

from collections.abc import Sequence

from bot.agent.conversation_context import ConversationContext, Files
from bot.agent.message_history import (
    MessageHistory,
    cut_middle,
    max_response,
    tokens_of,
    tokens_of_text,
    transcript_text,
)
from bot.agent.prompt import new_marker, render
from bot.agent.receive import receive
from bot.contracts.journal import CompactionRecord
from bot.contracts.messages import Message, Text, Usage
from bot.contracts.model import Failed, ModelInfo, ModelRequest, Provider
from bot.contracts.plain_text import quoted_names

_MIN_FREE = 16_384

RECENT_TOKENS = 20_000
MAX_PART = 2_000
MAX_SUMMARY = 4_096
"""Tokens."""

SMALL_SECONDS = 60.0
"""How long the small model may take for a summary."""

TRIES = 3
TRIES_WINDOW = 3
"""After `TRIES` compactions within this many turns the conversation makes no progress."""

_MAX_NAMES = 40


class SummaryCompaction:
    """When and how a conversation is compacted: by its own model, or by a small one whose window the text fits."""

    def __init__(self, context: ConversationContext) -> None:
        self._context = context
        self._turns: list[int] = []
        self._overflowed_at = 0
        self._usage, self._cost = Usage(), 0.0
        self.use(context.provider)

    def use(self, provider: Provider) -> None:
        """The conversation continues with `provider`, which may have another window."""
        self._provider = provider
        self._capacity = usable_tokens(provider.info)

    def due(self, tokens: int) -> bool:
        """Whether a compaction is due at a size of `tokens`."""
        return tokens > self._capacity

    def overflowed(self, turn: int, tokens: int) -> bool:
        """The model refused `tokens` as too many: whether a compaction may help, once for each request. The window is
        smaller than documented, so the capacity is reduced."""
        if self._overflowed_at == turn:
            return False
        self._overflowed_at = turn
        self._capacity = max(min(self._capacity, tokens * 4 // 5), 1)
        return True

    def shorten(self, turn: int, history: MessageHistory, files: Files) -> tuple[CompactionRecord, str]:
        """Return what to do, with the usage of all tries, and why the model is unavailable if that is the failure."""
        self._usage, self._cost = Usage(), 0.0
        record, unavailable = self._shortened(turn, history, files)
        return record._replace(before=history.tokens, usage=self._usage, cost=self._cost), unavailable

    def _shortened(self, turn: int, history: MessageHistory, files: Files) -> tuple[CompactionRecord, str]:
        messages = history.view()
        estimated = sum(map(tokens_of, messages))
        # Fewer if the vendor counts more than the estimate.
        keep = min(RECENT_TOKENS, self._capacity // 4) * estimated // max(estimated, history.tokens)
        first_kept = split_index(messages, keep)
        recent = [one for one in self._turns if turn - one < TRIES_WINDOW]
        if len(recent) + 1 >= TRIES:
            failure = (
                f"The conversation filled the model's window {TRIES} times within {TRIES_WINDOW} turns: what the task "
                "needs at once does not fit. Ask for a smaller part of it."
            )
            return CompactionRecord(turn, failure=failure), ""
        if first_kept <= 1:
            failure = (
                "The conversation fills the model's window and holds nothing that could be left out. Ask for less at "
                "once, or take a model with a larger window."
            )
            return CompactionRecord(turn, failure=failure), ""
        summary, failure, unavailable = self._summary(messages[1:first_kept])
        if failure:
            return CompactionRecord(turn, failure=failure), unavailable
        transcript = self._context.archive(transcript_text(messages[:first_kept]))
        self._turns.append(turn)
        text = compose_summary(summary, files, self._context.hooks.verbatim_texts(), transcript)
        return CompactionRecord(turn, text, first_kept, transcript=transcript), ""

    def _summary(self, old: Sequence[Message]) -> tuple[str, str, str]:
        """Return the model's summary, else why there is none, and why the model is unavailable if that is it."""
        text, most = transcript_text(old, MAX_PART), self._capacity - MAX_SUMMARY
        if tokens_of_text(text) > most:
            text = cut_middle(text, max(most, 2) * 3)  # characters: three a token
        models, small, problem = [self._provider] * TRIES, self._context.small(), "the run was cancelled."
        # The small model is tried once: its failure costs the run no more than the time until the next.
        if small is not None and tokens_of_text(text) <= usable_tokens(small.info) - MAX_SUMMARY:
            models.insert(0, small)
        for model in models:
            if self._context.cancel.fired:
                break
            summary, problem, unavailable = self._ask(model, text, SMALL_SECONDS if model is small else None)
            if not problem:
                return summary, "", ""
            if unavailable and model is not small:
                reason = "The conversation fills the model's window, and the summary failed"
                return "", f"{reason}: {problem}", problem
        return "", f"The conversation fills the model's window, and {TRIES} summaries failed: {problem}", ""

    def _ask(self, provider: Provider, text: str, seconds: float | None) -> tuple[str, str, bool]:
        """Return the summary of `text`, what is wrong with it, and whether the model is unavailable."""
        request = ModelRequest(
            render("summary"),
            (),
            (Message("user", (Text(render("sum_up", transcript=text, marker=new_marker())),)),),
            max_output=min(MAX_SUMMARY, provider.info.max_output),
        )
        response = receive(self._context, provider, request, seconds=seconds)
        usage = response.usage + response.discarded
        self._usage += usage
        self._cost += provider.info.cost(usage)
        if isinstance(response, Failed):
            return "", response.message, response.unavailable
        summary = response.message.text.strip()
        if not summary:
            return "", "the model's summary was empty.", False
        is_longer = len(summary) >= max(len(text), 1)
        return summary, "the model's summary was longer than what it sums up." if is_longer else "", False


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


def compose_summary(summary: str, files: Files, verbatim: Sequence[str], transcript: str) -> str:
    """Return the message that replaces the removed ones; `verbatim` are texts to keep word for word."""
    facts = [f"Files read: {_names(files.read)}", f"Files changed: {_names(files.changed)}"]
    if transcript:
        facts.append(f"The whole transcript so far, to be searched or viewed: {transcript}")
    known, verbatim_text = "\n".join(f"- {line}" for line in facts), "\n\n".join(verbatim)
    return render("compacted", summary=summary, known=known, verbatim=verbatim_text).rstrip()


def _names(paths: Sequence[str]) -> str:
    """Return the paths, the newest first."""
    return quoted_names(paths[::-1], _MAX_NAMES) if paths else "none"


def usable_tokens(info: ModelInfo) -> int:
    """Return how many tokens a conversation may hold when a request is sent, so that the response still fits."""
    response = max_response(info) or info.max_output
    margin = info.context_window // 50
    free = max(min(_MIN_FREE, info.context_window // 4), response) + margin
    return max(info.context_window - free, info.context_window // 4)
