"""Compact a conversation that is about to fill the model's window (S-167, S-168).

The task and the newest turns stay word for word, and one message replaces the rest: the model's summary, and facts from
the program: files read and changed, the open list, the path of the whole transcript. A call is never separated from its
result.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bot.agent.context_window import tokens_of, tokens_of_text, usable_tokens
from bot.agent.message_history import cut_middle, transcript_text
from bot.agent.prompt import new_marker, render
from bot.agent.receive import receive, with_timeout
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import CompactionRecord
from bot.contracts.messages import Message, Text, Usage
from bot.contracts.model import Complete, Failed, ModelRequest, Provider
from bot.contracts.plain_text import quoted_names

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


class Files(NamedTuple):
    """Paths as the tools reported them, each once, in the order of first use."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class CompactionInput(NamedTuple):
    """`tokens` is the size of the conversation, `verbatim` are texts to keep word for word."""

    turn: int
    tokens: int
    messages: Sequence[Message]
    files: Files
    verbatim: tuple[str, ...]


class SummaryError(Exception):
    """There is no summary: why, in a sentence. `unavailable` is why the model could not be asked, if that is it."""

    def __init__(self, reason: str, unavailable: str = "") -> None:
        super().__init__(reason)
        self.unavailable = unavailable


class SummaryCompaction:
    """When and how a conversation is compacted: by the session's own model, or by a `small` one whose window the text
    fits. `archive(text)` stores the transcript and returns where the model finds it; `idle` is that of
    `bot.agent.receive.receive`."""

    def __init__(
        self,
        provider: Provider,
        archive: Callable[[str], str],
        small: Callable[[], Provider | None],
        idle: Callable[[str], None],
    ) -> None:
        self._small = small
        self._idle = idle
        self._archive = archive
        self._turns: list[int] = []
        self._overflowed_at = 0
        self._usage, self._cost = Usage(), 0.0
        self.use(provider)

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

    def shorten(self, state: CompactionInput, cancel: CancelToken) -> tuple[CompactionRecord, str]:
        """Return what to do, with the usage of all tries, and why the model is unavailable if that is the failure."""
        self._usage, self._cost = Usage(), 0.0
        unavailable = ""
        try:
            record = self._shortened(state, cancel)
        except SummaryError as error:
            record, unavailable = CompactionRecord(state.turn, failure=str(error)), error.unavailable
        return record._replace(before=state.tokens, usage=self._usage, cost=self._cost), unavailable

    def _shortened(self, state: CompactionInput, cancel: CancelToken) -> CompactionRecord:
        first_kept = split_index(state.messages, self._keep(state))
        old = state.messages[1:first_kept]
        recent = [turn for turn in self._turns if state.turn - turn < TRIES_WINDOW]
        if len(recent) + 1 >= TRIES:
            raise SummaryError(
                f"The conversation filled the model's window {TRIES} times within {TRIES_WINDOW} turns: what the task "
                "needs at once does not fit. Ask for a smaller part of it."
            )
        if not old:
            raise SummaryError(
                "The conversation fills the model's window and holds nothing that could be left out. Ask for less at "
                "once, or take a model with a larger window."
            )
        summary = self._summary(old, cancel)
        transcript = self._archive(transcript_text(state.messages[:first_kept]))
        self._turns.append(state.turn)
        text = compose_summary(summary, state, transcript)
        return CompactionRecord(state.turn, text, first_kept, transcript=transcript)

    def _keep(self, state: CompactionInput) -> int:
        """Return how many estimated tokens of the newest turns stay; fewer if the vendor counts more than the
        estimate."""
        estimated = sum(map(tokens_of, state.messages))
        keep = min(RECENT_TOKENS, self._capacity // 4)
        return keep * estimated // max(estimated, state.tokens)

    def _summary(self, old: Sequence[Message], cancel: CancelToken) -> str:
        """Return the model's summary. Raises `SummaryError`."""
        text, most = transcript_text(old, MAX_PART), self._capacity - MAX_SUMMARY
        if tokens_of_text(text) > most:
            text = cut_middle(text, max(most, 2) * 3)  # characters: three a token
        small = self._small()
        # The small model is tried once: its failure costs the run no more than the time until the next.
        if small is not None and tokens_of_text(text) <= usable_tokens(small.info) - MAX_SUMMARY:
            token = with_timeout(cancel, SMALL_SECONDS)
            summary = self._ask(small, text, token)
            token.fire("time")  # ends its timer
            if not _problem(summary, text):
                return str(summary)
        problem = "the run was canceled."
        for _ in range(TRIES):
            if cancel.fired:
                break
            summary = self._ask(self._provider, text, cancel)
            if not (problem := _problem(summary, text)):
                return str(summary)
            if isinstance(summary, Failed) and summary.unavailable:
                reason = "The conversation fills the model's window, and the summary failed"
                raise SummaryError(f"{reason}: {problem}", problem)
        raise SummaryError(
            f"The conversation fills the model's window, and {TRIES} summaries failed: {problem}"
        )

    def _ask(self, provider: Provider, text: str, cancel: CancelToken) -> str | Failed:
        request = ModelRequest(
            render("summary"),
            (),
            (Message("user", (Text(render("sum_up", transcript=text, marker=new_marker())),)),),
            max_output=min(MAX_SUMMARY, provider.info.max_output),
        )
        response = receive(provider, request, cancel, self._idle)
        usage = response.usage + response.discarded
        self._usage += usage
        self._cost += provider.info.cost(usage)
        return response.message.text.strip() if isinstance(response, Complete) else response


def _problem(summary: str | Failed, text: str) -> str:
    """Return why `summary` is none of `text`."""
    if isinstance(summary, Failed):
        return summary.message
    if not summary:
        return "the model's summary was empty."
    return "the model's summary was longer than what it sums up." if len(summary) >= max(len(text), 1) else ""


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


def compose_summary(summary: str, state: CompactionInput, transcript: str) -> str:
    """Return the message that replaces the removed ones."""
    facts = [f"Files read: {_names(state.files.read)}", f"Files changed: {_names(state.files.changed)}"]
    if transcript:
        facts.append(f"The whole transcript so far, to be searched or viewed: {transcript}")
    verbatim = "\n\n".join(state.verbatim)
    return render(
        "compacted", summary=summary, known="\n".join(f"- {line}" for line in facts), verbatim=verbatim
    ).rstrip()


def _names(paths: Iterable[str]) -> str:
    newest_first = list(paths)[::-1]
    return quoted_names(newest_first, _MAX_NAMES) if newest_first else "none"
